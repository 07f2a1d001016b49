from collections.abc import Iterable

import numpy as np
import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.instance.objective import score
from memplan.planner.model.buffer_table import ABSENT, column
from memplan.planner.model.problem import Problem
from memplan.solvers.packing.packer import Packer
from memplan.solvers.packing.place import drop_buffers, pins_collide, place
from tests.support.constrained_problems import CONSTRAINTS, OTHERS, constrained_problem, violated_rules
from tests.support.random_problems import random_problem
from tests.support.values import require_value

RUNNING = column([0])
SOME_OF_ALL = frozenset({"holes", "conflicts", "pools", "alignment", "pins", "reserved"})


def compile_rows(*buffers: dict[str, object], **rest: object) -> Instance:
    return compile_problem(Problem(buffers=buffers, **rest))


def quick_packer(instance: Instance) -> Packer:
    return Packer(instance, RUNNING)


def place_buffers(instance: Instance, order: Iterable[int]) -> list[tuple[int, int]]:
    """Place buffers in the pools in turn and return (pool, offset in bytes) for each."""
    found = place(quick_packer(instance), instance, column(list(order)), tuple(range(len(instance.pools))))
    assert found is not None
    return list(zip(found[0].tolist(), (found[1] * instance.unit).tolist(), strict=True))


A = {"id": "a", "size": 4, "start": 0, "end": 3}
B = {"id": "b", "size": 6, "start": 2, "end": 5}


def test_dropping_buffers_keeps_the_order_of_their_raw_offsets() -> None:
    instance = compile_rows(A, B)
    zeros = np.zeros(2, dtype=np.int64)
    assert (instance.unit * np.asarray(drop_buffers(instance, zeros, [0.5, 0.49]))).tolist() == [6, 0]
    assert (instance.unit * np.asarray(drop_buffers(instance, zeros, [0.49, 0.5]))).tolist() == [0, 4]


@pytest.mark.parametrize("raw", [[0.0, 0.0], [1e300, -1e300], [2**62, 2**62 + 1]])
def test_drop_turns_any_raw_offsets_into_a_valid_packing(raw: list[float]) -> None:
    instance = compile_rows({**A, "size": 2**61}, {**B, "size": 2**62})
    dropped = drop_buffers(instance, np.zeros(2, dtype=np.int64), raw)
    assert sorted((instance.unit * require_value(dropped)).tolist()) in ([0, 2**61], [0, 2**62])


def test_dropping_the_buffers_of_a_dropped_plan_again_moves_none_upwards() -> None:
    for seed in range(10):
        instance = compile_problem(random_problem(seed, 40, SOME_OF_ALL - {"pools"}))
        pool = column(np.zeros(len(instance)))
        once = require_value(drop_buffers(instance, pool, np.random.default_rng(seed).random(len(instance))))
        assert (require_value(drop_buffers(instance, pool, once)) <= once).all()


def test_place_fills_pools_in_turn_like_placing_each_buffer_in_the_first_pool_that_fits() -> None:
    for seed in range(10):
        instance = compile_problem(random_problem(seed, 20, frozenset({"pools", "alignment", "holes"})))
        order = column(np.random.default_rng(seed).permutation(len(instance)))
        packer = quick_packer(instance)
        kept: list[list[int]] = [[], [], []]
        offset = np.full(len(instance), ABSENT)
        for i in order.tolist():
            for q in range(3):
                last = packer.pack(q, column([*kept[q], i]))[-1] if instance.allowed[q, i] else ABSENT
                if last != ABSENT:
                    kept[q].append(i)
                    offset[i] = last
                    break
        assert require_value(place(packer, instance, order, (0, 1, 2)))[1].tolist() == offset.tolist()


def test_place_returns_none_if_a_buffer_fits_in_no_pool() -> None:
    instance = compile_rows(A, B, pools=[{"name": "tight", "size": 9}])
    assert place(quick_packer(instance), instance, column([0, 1]), (0,)) is None


def test_pins_collide_if_conflicting_buffers_overlap() -> None:
    def collide(*buffers: dict[str, object], **rest: object) -> bool:
        instance = compile_rows(*buffers, **rest)
        return pins_collide(instance, quick_packer(instance))

    later = {"id": "b", "size": 1, "start": 1, "end": 3, "offset": 1}
    assert not collide({"id": "a", "size": 1, "start": 0, "end": 2, "offset": 0}, later)
    assert collide({"id": "a", "size": 2, "start": 0, "end": 2, "offset": 0}, later)
    assert not collide({"id": "a", "size": 2, "start": 0, "end": 1, "offset": 0}, later)
    timeless = ({"id": "a", "size": 2, "offset": 0}, {"id": "b", "size": 1, "offset": 1})
    assert collide(*timeless, conflicts=[("a", "b")])


def test_pins_of_sharing_or_rigidly_grouped_buffers_do_not_collide() -> None:
    first, second = {**A, "offset": 4}, {**B, "offset": 4}
    instance = compile_rows(first, second, may_share=[("a", "b")])
    assert not pins_collide(instance, quick_packer(instance))
    instance = compile_rows(first, {**B, "offset": 5}, may_share=[("a", "b")])
    assert pins_collide(instance, quick_packer(instance))
    instance = compile_rows(first, {**B, "offset": 5, "relative": {"to": "a", "offset": 1}})
    assert not pins_collide(instance, quick_packer(instance))


POOLS = [{"name": "fast", "size": 10}, {"name": "slow"}]
C = {"id": "c", "size": 5, "start": 0, "end": 5}


def test_a_colocation_group_is_placed_in_the_first_pool_that_holds_all_members() -> None:
    instance = compile_rows(A, B, C, pools=POOLS)
    assert place_buffers(instance, [0, 1, 2]) == [(0, 0), (0, 4), (1, 0)]
    instance = compile_rows(A, B, C, pools=POOLS, together=[("a", "c")])
    assert place_buffers(instance, [0, 2, 1]) == [(0, 0), (1, 0), (0, 4)]
    assert place_buffers(instance, [0, 1, 2]) == [(1, 0), (0, 0), (1, 4)]


@pytest.mark.parametrize("seed", range(30))
def test_place_and_drop_violate_no_constraint(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = constrained_problem(seed, 12, frozenset(name for name in CONSTRAINTS + OTHERS if rng.random() < 0.5))
    instance = compile_problem(problem)
    found = place(quick_packer(instance), instance, column(rng.permutation(12)), (0, 1)[: len(instance.pools)])
    assert found is not None
    assert (found[0][instance.colocation] == found[0]).all()
    dropped = require_value(drop_buffers(instance, found[0], found[1] + rng.random(12) / 4))
    assert score(instance, found[0], dropped) <= score(instance, *found)
    for q in range(len(instance.pools)):
        here = np.flatnonzero(found[0] == q)
        for offset in (found[1], dropped):
            assert violated_rules(instance, q, dict(zip(here.tolist(), offset[here].tolist(), strict=True))) == []
