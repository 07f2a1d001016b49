"""Packing in a given order: first fit under every constraint, order rules, and rigid bodies."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import ABSENT, I64, BufferTable, column
from memplan.planner.model.problem import Problem
from memplan.solvers.formulation.pair_rules import Pair
from memplan.solvers.packing.orders import COST_RULES, RULES, Rule, Traits
from memplan.solvers.packing.packer import Packer
from memplan.solvers.packing.rigid_bodies import first_multiple
from memplan.solvers.packing.sharing_decisions import share_pairs
from tests.support.constrained_problems import CONSTRAINTS, OTHERS, constrained_instance, violated_rules
from tests.support.depth import seeds
from tests.support.packers import PackerOfBlocks
from tests.support.plain_bodies import Body, Page, PlainBodies
from tests.support.plain_packer import PlainPacker
from tests.support.random_problems import random_problem

RUNNING = column([0])
HORIZON = 500
OF_COLUMNS = ("clearances", "intervals")
MIXES = [frozenset({name}) for name in (*CONSTRAINTS, *OF_COLUMNS)] + [
    frozenset(name for k, name in enumerate((*CONSTRAINTS, *OTHERS, *OF_COLUMNS)) if seed >> k & 1)
    for seed in np.random.default_rng(0).integers(0, 2**15, 18).tolist()
]


def plain_packer(instance: Instance, glued: tuple[Pair, ...] = ()) -> PlainPacker:
    return PlainPacker(instance, RUNNING, glued)


def compiled_packer(instance: Instance, glued: tuple[Pair, ...] = ()) -> Packer:
    return Packer(instance, RUNNING, glued=glued)


packers = pytest.mark.parametrize("packer", [plain_packer, compiled_packer])
Make = Callable[..., Packer | PlainPacker]


def naive_pack(instance: Instance, q: int, order: I64) -> list[int]:
    """Return first-fit offsets in the given order, found by trying every offset from 0 for each rigid group."""
    placed: dict[int, int] = {}
    is_met: set[int] = set()
    for i in order.tolist():
        group = np.flatnonzero(instance.anchor == instance.anchor[i]).tolist()
        for at in range(HORIZON if i not in is_met else 0):
            trial = {j: at + int(instance.distance[j]) for j in group}
            if not violated_rules(instance, q, trial) and not violated_rules(instance, q, placed | trial):
                placed |= trial
                break
        is_met.update(group)
    return [placed.get(i, ABSENT) for i in order.tolist()]


def placeable_order(instance: Instance, q: int, seed: int) -> I64:
    order = np.random.default_rng(seed).permutation(len(instance))
    return column(order[instance.allowed[q, order]])


@pytest.mark.parametrize("features", MIXES, ids=lambda mix: "+".join(sorted(mix)) or "nothing")
def test_first_fit_uses_the_lowest_offset_that_violates_no_constraint(features: frozenset[str]) -> None:
    for seed in range(2):
        instance = constrained_instance(seed, 8, features - {"pins"}, None if seed else 40)
        for q in range(len(instance.pools)):
            order = placeable_order(instance, q, seed)
            assert plain_packer(instance).pack(q, order).tolist() == naive_pack(instance, q, order)


@pytest.mark.parametrize("features", MIXES, ids=lambda mix: "+".join(sorted(mix)) or "nothing")
def test_the_pack_kernel_and_the_python_packer_agree_under_all_constraints(features: frozenset[str]) -> None:
    for seed in range(3):
        instance = constrained_instance(seed, 30, features, None if seed else 600)
        rng = np.random.default_rng(seed)
        glued = [pair for pair in share_pairs(instance) if rng.random() < 0.5]
        pack: list[Packer | PlainPacker] = [PlainPacker(instance, RUNNING, glued)]
        pack += [Packer(instance, RUNNING, glued=glued)]
        pack += [PackerOfBlocks(instance, 1, False, glued), PackerOfBlocks(instance, 2, True, glued)]
        for q in range(len(instance.pools)):
            order = placeable_order(instance, q, seed)
            for best_fit in (False, True):
                first, *others = (each.pack(q, order, best_fit).tolist() for each in pack)
                assert others == [first] * 3
                found = {i: at for i, at in zip(order.tolist(), first, strict=True) if at != ABSENT}
                assert violated_rules(instance, q, found) == []


def pack_rows(make: Make, *buffers: dict[str, Any], glued: tuple[Pair, ...] = (), **rest: Any) -> list[int]:
    """Pack buffers (4 bytes, alive from 0 to 9 by default) in the given order; return their offsets in bytes."""
    rows = [{"id": k, "size": 4, "start": 0, "end": 9} | row for k, row in enumerate(buffers)]
    instance = compile_problem(Problem(buffers=rows, **rest))
    found = make(instance, glued).pack(0, column(range(len(instance)))).tolist()
    return [at if at == ABSENT else at * instance.unit for at in found]


def test_constrained_offsets_near_two_to_the_62_do_not_overflow() -> None:
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
            made = plain_packer(instance), compiled_packer(instance)
            assert len({tuple(each.pack(0, order, best_fit)) for each in made}) == 1


@packers
def test_packers_place_nothing_if_their_stop_flag_is_set(packer: Make) -> None:
    instance = constrained_instance(0, 6, frozenset(CONSTRAINTS))
    pack = PlainPacker(instance, column([1])) if packer is plain_packer else Packer(instance, column([1]))
    assert pack.pack(0, column(range(len(instance)))).tolist() == [ABSENT] * len(instance)


@packers
def test_packers_find_high_offsets_that_satisfy_coprime_pages_and_alignments(packer: Make) -> None:
    page = 1 << 20
    above = {"size": page - 1, "alignment": 1_000_003, "no_cross": page}
    offsets = pack_rows(packer, {"size": 1}, above, pools=[{"name": "only", "base_address": 1}])
    assert offsets == [0, 1_000_003 * 105_067 - 1]


EVERYTHING = frozenset({"holes", "conflicts", "pools", "alignment", "pins", "reserved", "cost"})


def naive_traits(instance: Instance) -> dict[str, list[float]]:
    """Return the traits of an instance, computed from every pair and every live set."""
    n, sets = len(instance), range(instance.n_live_sets)
    alive = [[t in spans(instance, i) for t in sets] for i in range(n)]
    load = [sum(int(instance.size[i]) for i in range(n) if alive[i][t]) for t in sets]
    return {
        "life": [sum(row) for row in alive],
        "start": [row.index(True) if any(row) else 0 for row in alive],
        "end": [len(row) - row[::-1].index(True) if any(row) else 0 for row in alive],
        "area": [sum(row) * int(size) for row, size in zip(alive, instance.size, strict=True)],
        "pressure": [max((load[t] for t in sets if row[t]), default=0) / max(load) for row in alive],
        "is_at_peak": [row[load.index(max(load))] for row in alive],
        "conflicts": [sum(meetings(instance, i, j) for j in range(n) if j != i) for i in range(n)],
    }


def lives(instance: Instance, i: int) -> list[range]:
    rows = range(int(instance.first[i]), int(instance.first[i + 1]))
    return [range(int(instance.start[k]), int(instance.end[k])) for k in rows]


def spans(instance: Instance, i: int) -> set[int]:
    return {t for life in lives(instance, i) for t in life}


def meetings(instance: Instance, i: int, j: int) -> int:
    first = instance.conflict_first
    pairs = [(a, b) for a in lives(instance, i) for b in lives(instance, j) if set(a) & set(b)]
    return len(pairs) + (j in instance.conflict[first[i] : first[i + 1]].tolist())


@pytest.mark.parametrize("seed", range(8))
def test_buffer_traits_match_a_naive_computation_over_all_pairs_and_live_sets(seed: int) -> None:
    features = frozenset({"conflicts"}) | ({"holes"} if seed % 2 else frozenset())
    instance = compile_problem(random_problem(seed, 25, features))
    traits, expected = Traits(instance), naive_traits(instance)
    for name, values in expected.items():
        assert getattr(traits, name).tolist() == values, name


@pytest.mark.parametrize("rule", [*RULES, *COST_RULES], ids=lambda rule: rule.name)
def test_every_order_rule_returns_a_permutation_of_the_buffers(rule: Rule) -> None:
    for seed in range(3):
        instance = compile_problem(random_problem(seed, 30, EVERYTHING))
        assert sorted(rule.order(Traits(instance)).tolist()) == list(range(30))


def test_order_rules_work_without_lifetimes_and_without_buffers() -> None:
    bare = compile_problem(Problem(buffers=[{"id": 1, "size": 3}, {"id": 2, "size": 5}]))
    empty = compile_problem(Problem(buffers=[]))
    for rule in (*RULES, *COST_RULES):
        assert (sorted(rule.order(Traits(bare)).tolist()), rule.order(Traits(empty)).tolist()) == ([0, 1], [])


def test_the_packer_stacks_a_hundred_thousand_buffers_alive_together() -> None:
    n = 100_000
    start, size = np.arange(n), np.random.default_rng(0).integers(1, 1_000, n)
    instance = compile_problem(Problem(buffers=BufferTable.from_columns(range(n), size, start, start + n)))
    order = column(np.random.default_rng(1).permutation(n))
    assert Packer(instance, RUNNING).pack(0, order).tolist() == (np.cumsum(size[order]) - size[order]).tolist()


def test_the_pack_kernel_agrees_with_the_python_packer_on_very_different_lifetimes() -> None:
    rng = np.random.default_rng(1)
    start = rng.integers(0, 900, 700)
    life = np.where(rng.random(700) < 0.1, rng.integers(300, 900, 700), rng.integers(1, 4, 700))
    table = BufferTable.from_columns(range(700), rng.integers(1, 99, 700), start, start + life)
    instance = compile_problem(Problem(buffers=table))
    order = column(rng.permutation(700))
    for best_fit in (False, True):
        compiled = Packer(instance, RUNNING).pack(0, order, best_fit).tolist()
        assert compiled == PlainPacker(instance).pack(0, order, best_fit).tolist()


@pytest.mark.parametrize("modulus", range(1, 14))
def test_first_multiple_agrees_with_exhaustive_enumeration(modulus: int) -> None:
    for step in range(2 * modulus + 1):
        for low in range(modulus):
            for high in range(low, modulus):
                tried = [k for k in range(modulus) if low <= k * step % modulus <= high]
                assert first_multiple(step, modulus, low, high) == (tried[0] if tried else None)


@pytest.mark.drawn
def test_next_offset_of_a_rigid_body_is_the_lowest_legal_for_grid_and_pages() -> None:
    for seed in seeds(25):
        rng = np.random.default_rng(seed)
        lengths = rng.integers(1, 20, int(rng.integers(0, 3))).tolist()
        pages = tuple(Page(n, int(rng.integers(0, 30)), int(rng.integers(1, n + 1))) for n in lengths)
        body = Body((0,), (0,), int(rng.integers(0, 9)), int(rng.integers(1, 12)), 400, pages)
        legal = [
            at
            for at in range(body.lowest, 401, body.step)
            if all((at + page.shift) % page.length + page.size <= page.length for page in pages)
        ]
        for at in range(0, 200, 7):
            assert body.next_offset(at) == min((x for x in legal if x >= at), default=None)


def instance_of(*buffers: dict[str, Any], **rest: Any) -> Instance:
    rows = [{"id": k, "size": 4, "start": 0, "end": 9} | row for k, row in enumerate(buffers)]
    return compile_problem(Problem(buffers=rows, **rest))


def glued_members(instance: Instance, *pairs: tuple[int, int]) -> list[tuple[int, ...]]:
    bodies = PlainBodies(instance, 0, pairs)
    return [bodies.body_of(i).members for i in range(len(instance))]


def test_glued_pairs_and_chains_of_pairs_become_one_rigid_body() -> None:
    chain = instance_of({"end": 2}, {"start": 1, "end": 4}, {"start": 3}, may_share=[[0, 1], [1, 2]])
    assert glued_members(chain, (0, 1)) == [(0, 1), (0, 1), (2,)]
    assert glued_members(chain, (0, 1), (1, 2)) == [(0, 1, 2)] * 3
