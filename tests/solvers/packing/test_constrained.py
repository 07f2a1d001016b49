from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import ABSENT, I64, column
from memplan.planner.model.problem import Problem
from memplan.solvers.formulation.pair_rules import Pair
from memplan.solvers.packing.packer import Packer
from memplan.solvers.packing.sharing_decisions import share_pairs
from tests.support.constrained_problems import CONSTRAINTS, OTHERS, broken_rules, constrained_instance
from tests.support.packers import PackerOfBlocks
from tests.support.plain_packer import PlainPacker

RUNNING = column([0])
HORIZON = 500
OF_COLUMNS = ("clearances", "intervals")
MIXES = [frozenset({name}) for name in (*CONSTRAINTS, *OF_COLUMNS)] + [
    frozenset(name for k, name in enumerate((*CONSTRAINTS, *OTHERS, *OF_COLUMNS)) if seed >> k & 1)
    for seed in np.random.default_rng(0).integers(0, 2**15, 18).tolist()
]


def plain(instance: Instance, glued: tuple[Pair, ...] = ()) -> PlainPacker:
    return PlainPacker(instance, RUNNING, glued)


def compiled(instance: Instance, glued: tuple[Pair, ...] = ()) -> Packer:
    return Packer(instance, RUNNING, glued=glued)


packers = pytest.mark.parametrize("packer", [plain, compiled])
Make = Callable[..., Packer | PlainPacker]


def naive_pack(instance: Instance, q: int, order: I64) -> list[int]:
    """Try, for each rigid group, every offset from 0 up."""
    placed: dict[int, int] = {}
    is_met: set[int] = set()
    for i in order.tolist():
        anchor = instance.anchor[i]
        group = np.flatnonzero(instance.anchor == anchor).tolist()
        for at in range(HORIZON if i not in is_met else 0):
            trial = {j: at + int(instance.distance[j]) for j in group}
            if not broken_rules(instance, q, trial) and not broken_rules(instance, q, placed | trial):
                placed |= trial
                break
        is_met.update(group)
    return [placed.get(i, ABSENT) for i in order.tolist()]


def placeable(instance: Instance, q: int, seed: int) -> I64:
    order = np.random.default_rng(seed).permutation(len(instance))
    return column(order[instance.allowed[q, order]])


@pytest.mark.parametrize("features", MIXES, ids=lambda mix: "+".join(sorted(mix)) or "nothing")
def test_first_fit_takes_the_lowest_offset_that_breaks_no_rule(features: frozenset[str]) -> None:
    for seed in range(2):
        instance = constrained_instance(seed, 8, features - {"pins"}, None if seed else 40)
        for q in range(len(instance.pools)):
            order = placeable(instance, q, seed)
            assert plain(instance).pack(q, order).tolist() == naive_pack(instance, q, order)


@pytest.mark.parametrize("features", MIXES, ids=lambda mix: "+".join(sorted(mix)) or "nothing")
def test_kernel_and_plain_python_give_the_same_offsets_and_break_no_rule(features: frozenset[str]) -> None:
    for seed in range(3):
        instance = constrained_instance(seed, 30, features, None if seed else 600)
        rng = np.random.default_rng(seed)
        glued = [pair for pair in share_pairs(instance) if rng.random() < 0.5]
        pack: list[Packer | PlainPacker] = [PlainPacker(instance, RUNNING, glued)]
        pack += [Packer(instance, RUNNING, glued=glued)]
        pack += [PackerOfBlocks(instance, 1, False, glued), PackerOfBlocks(instance, 2, True, glued)]
        for q in range(len(instance.pools)):
            order = placeable(instance, q, seed)
            for best_fit in (False, True):
                first, *others = (each.pack(q, order, best_fit).tolist() for each in pack)
                assert others == [first] * 3
                found = {i: at for i, at in zip(order.tolist(), first, strict=True) if at != ABSENT}
                assert broken_rules(instance, q, found) == []


def packed(make: Make, *buffers: dict[str, Any], glued: tuple[Pair, ...] = (), **rest: Any) -> list[int]:
    """Pack buffers, alive all the time if nothing else is said, in the order given; offsets are in bytes."""
    rows = [{"id": k, "size": 4, "start": 0, "end": 9} | row for k, row in enumerate(buffers)]
    instance = compile_problem(Problem.model_validate({"buffers": rows, **rest}))
    found = make(instance, glued).pack(0, column(range(len(instance)))).tolist()
    return [at if at == ABSENT else at * instance.unit for at in found]


def test_offsets_near_two_to_the_62_do_not_overflow() -> None:
    rng = np.random.default_rng(2)
    for _ in range(10):
        rows: list[dict[str, Any]] = [
            {"id": i, "size": int(rng.integers(2**57, 2**58)), "start": int(rng.integers(3)), "end": 4}
            for i in range(8)
        ]
        rows[1]["relative"] = {"to": 0, "offset": int(rng.integers(2**58))}
        rows[2]["no_cross"] = 2**59 + 2
        data = {"buffers": rows, "pools": [{"name": "banked", "bank_size": 2**60 + 2, "base_address": 2**59}]}
        sharing = {"may_share": [[5, 6]], "bank": [{"buffers": [3, 4, 6]}]}
        instance = compile_problem(Problem.model_validate(data | sharing))
        order = column(rng.permutation(8))
        for best_fit in (False, True):
            assert len({tuple(make(instance).pack(0, order, best_fit)) for make in (plain, compiled)}) == 1


@packers
def test_a_raised_flag_stops_it(packer: Make) -> None:
    instance = constrained_instance(0, 6, frozenset(CONSTRAINTS))
    pack = PlainPacker(instance, column([1])) if packer is plain else Packer(instance, column([1]))
    assert pack.pack(0, column(range(len(instance)))).tolist() == [ABSENT] * len(instance)


@packers
def test_pages_and_alignments_without_a_common_divisor_meet_far_up(packer: Make) -> None:
    page = 1 << 20
    above = {"size": page - 1, "alignment": 1_000_003, "no_cross": page}
    offsets = packed(packer, {"size": 1}, above, pools=[{"name": "only", "base_address": 1}])
    assert offsets == [0, 1_000_003 * 105_067 - 1]
