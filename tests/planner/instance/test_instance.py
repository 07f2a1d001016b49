"""An instance is its problem, no more and no less: a search over the one finds the optimum of the other."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import column
from memplan.planner.model.problem import Problem
from tests.support.families import conflicts, families
from tests.support.oracle import best_score
from tests.support.strategies import problems

A = {"id": "a", "size": 4, "start": 0, "end": 2}
B = {"id": "b", "size": 3, "start": 1, "end": 3}


def compiled(*buffers: dict[str, Any], **fields: Any) -> Instance:
    return compile_problem(Problem.model_validate({"buffers": list(buffers), **fields}))


def in_conflict(instance: Instance, i: int, j: int) -> bool:
    if j in instance.conflict[instance.conflict_first[i] : instance.conflict_first[i + 1]]:
        return True
    mine, others = (range(instance.first[k], instance.first[k + 1]) for k in (i, j))
    return any(
        instance.start[a] < instance.end[b] and instance.start[b] < instance.end[a] for a in mine for b in others
    )


@given(problem=problems(6))
def test_an_instance_keeps_its_promises(problem: Problem) -> None:
    instance = compile_problem(problem)
    n, p = len(instance), len(instance.pools)
    assert (instance.size > 0).all()
    assert instance.source.tolist() == sorted(set(instance.source.tolist()))
    assert instance.first[0] == 0
    assert instance.first[-1] == len(instance.start) == len(instance.end) == len(instance.lifetime_buffer)
    assert (instance.start < instance.end).all()
    assert ((instance.end[:-1] <= instance.start[1:]) | np.diff(instance.lifetime_buffer).astype(bool)).all()
    assert instance.alignment.shape == instance.lowest.shape == instance.allowed.shape == (p, n)
    assert (instance.alignment >= 1).all()
    assert ((instance.lowest < instance.alignment) | (instance.pin >= 0)).all()
    for q, memory in enumerate(instance.pools):
        flat = memory.reserved.ravel()
        assert (flat[1:] >= flat[:-1]).all()
        for i in np.flatnonzero(instance.allowed[q] & (instance.pin >= 0)).tolist():
            assert instance.pin[i] == instance.lowest[q, i] == instance.highest[q, i]
    alone = [i for i in range(n) if not instance.allowed[:, i].any()]
    assert {int(instance.source[i]) for i in alone} <= set(instance.unplaceable)
    ids = problem.buffers.ids
    groups = {family.members[0][1].id: family for family in families(problem)}
    for i, j in product(range(n), repeat=2):
        first, second = (groups[ids[int(instance.source[k])]] for k in (i, j))
        assert i == j or in_conflict(instance, i, j) == conflicts(problem, first, second)


@given(problem=problems(6))
def test_live_sets_are_maximal_and_each_has_its_time(problem: Problem) -> None:
    instance = compile_problem(problem)
    sets = [set(instance.members(t).tolist()) for t in range(instance.n_live_sets)]
    groups = {family.members[0][1].id: family for family in families(problem)}
    for members, time in zip(sets, instance.live_set_time.tolist(), strict=True):
        alive = {
            i
            for i in range(len(instance))
            for start, end in groups[problem.buffers.ids[int(instance.source[i])]].intervals
            if start <= time < end
        }
        assert members == alive
    assert instance.live_set_time.tolist() == sorted(set(instance.live_set_time.tolist()))
    assert [instance.size[list(members)].sum() for members in sets] == instance.load().tolist()
    if "holes" not in instance.features:
        assert not any(a < b or (a == b and s != t) for s, a in enumerate(sets) for t, b in enumerate(sets))


@pytest.mark.parametrize(
    ("problem", "unit"),
    [
        (compiled(), 1),
        (compiled(A | {"size": 12}, B | {"size": 18}), 6),
        (compiled(A | {"size": 12, "alignment": 4}, B | {"size": 24}), 12),
        (compiled(A | {"size": 12, "alignment": 24}, B | {"size": 24}), 12),
        (compiled(A | {"size": 12, "alignment": 8}, B | {"size": 24}), 4),
        (compiled(A | {"size": 12}, B | {"size": 24, "offset": 30}), 6),
        (compiled(A | {"size": 12}, pools=[{"reserved": [[9, 12]]}]), 3),
        (compiled(A | {"size": 12}, pools=[{"size": 31}]), 12),
        (compiled(A | {"size": 12, "alignment": 12}, pools=[{"base_address": 4}]), 4),
        (compiled(A | {"size": 12}, B | {"size": 0, "alignment": 7}), 12),
    ],
)
def test_the_unit_divides_whatever_offsets_can_be(problem: Instance, unit: int) -> None:
    assert problem.unit == unit


def test_aliases_are_folded_into_their_buffer() -> None:
    view = {
        "id": "v",
        "size": 2,
        "start": 5,
        "end": 7,
        "alignment": 4,
        "alias_of": "a",
        "alias_offset": 1,
        "traffic": 9,
    }
    instance = compiled(A, B, view, conflicts=[["v", "b"]])
    assert instance.source.tolist() == [0, 1]
    assert instance.traffic.tolist() == [13, 3]
    assert (instance.alignment[0, 0], instance.lowest[0, 0]) == (4, 3)
    assert instance.conflict.tolist() == [1, 0]
    assert instance.load().tolist() == [7, 4]


def test_contradictory_aliases_have_no_home() -> None:
    odd = {"size": 1, "alignment": 2, "alias_of": "a"}
    assert compiled(A, odd | {"id": 1}, odd | {"id": 2, "alias_offset": 1}).unplaceable == (0,)
    assert compiled(A | {"offset": 4}, odd | {"id": 1, "offset": 6}).unplaceable == (0,)
    nothing = {"size": 0, "alias_of": "a"}
    assert compiled(A | {"size": 0, "offset": 4}, nothing | {"id": 1, "offset": 6}).unplaceable == (0,)


def test_explicit_conflicts_are_symmetric_sorted_and_listed_once() -> None:
    instance = compiled(A, B, A | {"id": "c"}, conflicts=[["c", "a"], ["a", "c"], ["b", "b"], ["a", "b"]])
    assert instance.conflict_first.tolist() == [0, 2, 3, 4]
    assert instance.conflict.tolist() == [1, 2, 0, 0]


def test_an_alignment_beyond_2_to_62_is_kept_exactly() -> None:
    """The step is 3 x 2^61: 2^62 is no multiple of it, and only 0 and one other offset are below 2^63."""
    instance = compiled(A | {"alignment": 3 * 2**60}, pools=[{"alignment": 2**61}])
    assert instance.alignment[0, 0] * instance.unit == 3 * 2**61
    value = Problem.model_validate(
        {"buffers": [A | {"alignment": 2**62}], "pools": [{"alignment": 3, "base_address": 1}]}
    )
    assert best_score(value) is None
    assert compile_problem(value).unplaceable == (0,)


def test_one_offset_may_be_all_that_huge_alignments_leave() -> None:
    huge = [2**62, 2**62 - 1, 2**61 - 1]
    rows = [A, *({"id": step, "size": 0, "alignment": step, "alias_of": "a"} for step in huge)]
    instance = compiled(*rows)
    assert instance.allowed.all()
    assert (instance.lowest[0, 0], int(instance.alignment[0, 0])) == (0, 2**63 - 1)
    assert not compiled(
        *rows, {"id": "odd", "size": 0, "alignment": 5, "alias_of": "a", "alias_offset": 1}
    ).allowed.any()


def test_sums_beyond_int64_are_exact() -> None:
    instance = compiled(*({"id": k, "size": 2**62 - k, "start": 0, "end": 1} for k in range(4)))
    assert not instance.is_small_numbered
    assert instance.load().tolist() == [4 * 2**62 - 6]
    assert instance.pools[0].capacity == 2**63 - 1


def test_the_last_end_in_bytes_fits_int64_in_any_unit() -> None:
    for size in (2, 3, 2**40):
        instance = compiled(A | {"size": size}, pools=[{"name": "x"}, {"name": "y", "size": 2**63 - 1}])
        assert all(memory.capacity * instance.unit <= 2**63 - 1 for memory in instance.pools)


def test_reserved_ranges_are_merged_and_cut_at_the_end() -> None:
    ranges = [[10, 5], [0, 2], [2, 3], [12, 9], [30, 9], [40, 0], [50, 5]]
    instance = compiled(A, pools=[{"size": 32, "reserved": ranges}])
    assert instance.pools[0].reserved.tolist() == [[0, 5], [10, 21], [30, 32]]


def test_buffers_of_no_bytes_go_where_they_raise_no_peak() -> None:
    pools = [{"name": "x", "base_address": 1, "size": 64}, {"name": "y"}]
    problem = Problem.model_validate({"buffers": [A, B | {"size": 0, "alignment": 8}], "pools": pools})
    instance = compile_problem(problem)
    placed = lift(problem, instance, column([0]), column([0]))
    assert [(row.id, row.pool, row.offset) for row in placed] == [("a", "x", 0), ("b", "y", 0)]
