"""Compiled instances: live sets, units, scores, and reports of shared pairs and bank clashes."""

import pickle
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.instance.instance import Instance
from memplan.planner.instance.objective import cost_of, rounded_down, score
from memplan.planner.instance.pair_report import bank_clashes, shared_pairs
from memplan.planner.model.buffer_table import column
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Placement
from memplan.planner.model.sizes import gap_text
from memplan.planner.verify.verifier import verify
from tests.support.families import conflicts, families
from tests.support.oracle import best_score
from tests.support.strategies import placements, problems, tied_problems
from tests.support.values import buffer_rows

A = {"id": "a", "size": 4, "start": 0, "end": 2}
B = {"id": "b", "size": 3, "start": 1, "end": 3}


def compile_rows(*buffers: dict[str, Any], **fields: Any) -> Instance:
    return compile_problem(Problem.model_validate({"buffers": list(buffers), **fields}))


def are_in_conflict(instance: Instance, i: int, j: int) -> bool:
    if j in instance.conflict[instance.conflict_first[i] : instance.conflict_first[i + 1]]:
        return True
    mine, other = (range(instance.first[k], instance.first[k + 1]) for k in (i, j))
    return any(instance.start[a] < instance.end[b] and instance.start[b] < instance.end[a] for a in mine for b in other)


@given(problem=problems(6))
def test_columns_of_a_compiled_instance_are_consistent_with_its_problem(problem: Problem) -> None:
    instance = compile_problem(problem)
    n, p = len(instance), len(instance.pools)
    assert (instance.size > 0).all()
    assert (instance.source.tolist(), instance.first[0]) == (sorted(set(instance.source.tolist())), 0)
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
        assert i == j or are_in_conflict(instance, i, j) == conflicts(problem, first, second)


@given(problem=problems(6))
def test_live_sets_are_maximal_sets_of_buffers_alive_at_a_common_time(problem: Problem) -> None:
    instance = compile_problem(problem)
    sets = [set(instance.live_set_members(t).tolist()) for t in range(instance.n_live_sets)]
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
    assert [instance.size[list(members)].sum() for members in sets] == instance.loads().tolist()
    if "holes" not in instance.features:
        assert not any(a < b or (a == b and s != t) for s, a in enumerate(sets) for t, b in enumerate(sets))


@pytest.mark.parametrize(
    ("problem", "unit"),
    [
        (compile_rows(), 1),
        (compile_rows(A | {"size": 12}, B | {"size": 18}), 6),
        (compile_rows(A | {"size": 12, "alignment": 4}, B | {"size": 24}), 12),
        (compile_rows(A | {"size": 12, "alignment": 24}, B | {"size": 24}), 12),
        (compile_rows(A | {"size": 12, "alignment": 8}, B | {"size": 24}), 4),
        (compile_rows(A | {"size": 12}, B | {"size": 24, "offset": 30}), 6),
        (compile_rows(A | {"size": 12}, pools=[{"reserved": [[9, 12]]}]), 3),
        (compile_rows(A | {"size": 12}, pools=[{"size": 31}]), 12),
        (compile_rows(A | {"size": 12, "alignment": 12}, pools=[{"base_address": 4}]), 4),
        (compile_rows(A | {"size": 12}, B | {"size": 0, "alignment": 7}), 12),
    ],
)
def test_the_unit_divides_all_possible_offsets(problem: Instance, unit: int) -> None:
    assert problem.unit == unit


def test_aliases_are_merged_into_their_buffer() -> None:
    row = {"id": "v", "size": 2, "start": 5, "end": 7, "alignment": 4, "alias_of": "a", "alias_offset": 1, "traffic": 9}
    instance = compile_rows(A, B, row, conflicts=[["v", "b"]])
    assert (instance.source.tolist(), instance.traffic.tolist()) == ([0, 1], [13, 3])
    assert (instance.alignment[0, 0], instance.lowest[0, 0], instance.conflict.tolist()) == (4, 3, [1, 0])
    assert instance.loads().tolist() == [7, 4]


def test_buffers_with_contradictory_aliases_are_unplaceable() -> None:
    odd = {"size": 1, "alignment": 2, "alias_of": "a"}
    assert compile_rows(A, odd | {"id": 1}, odd | {"id": 2, "alias_offset": 1}).unplaceable == (0,)
    assert compile_rows(A | {"offset": 4}, odd | {"id": 1, "offset": 6}).unplaceable == (0,)
    nothing = {"size": 0, "alias_of": "a"}
    assert compile_rows(A | {"size": 0, "offset": 4}, nothing | {"id": 1, "offset": 6}).unplaceable == (0,)


def test_explicit_conflicts_are_symmetric_sorted_and_listed_once() -> None:
    instance = compile_rows(A, B, A | {"id": "c"}, conflicts=[["c", "a"], ["a", "c"], ["b", "b"], ["a", "b"]])
    assert (instance.conflict_first.tolist(), instance.conflict.tolist()) == ([0, 2, 3, 4], [1, 2, 0, 0])


def test_a_combined_alignment_beyond_2_to_62_is_exact() -> None:
    """The step is 3 x 2^61: 2^62 is no multiple of it, and only 0 and one other offset are below 2^63."""
    instance = compile_rows(A | {"alignment": 3 * 2**60}, pools=[{"alignment": 2**61}])
    assert instance.alignment[0, 0] * instance.unit == 3 * 2**61
    value = Problem.model_validate(
        {"buffers": [A | {"alignment": 2**62}], "pools": [{"alignment": 3, "base_address": 1}]}
    )
    assert best_score(value) is None
    assert compile_problem(value).unplaceable == (0,)


def test_huge_alignments_may_leave_a_single_offset() -> None:
    rows = [A, *({"id": step, "size": 0, "alignment": step, "alias_of": "a"} for step in [2**62, 2**62 - 1, 2**61 - 1])]
    instance = compile_rows(*rows)
    assert instance.allowed.all()
    assert (instance.lowest[0, 0], int(instance.alignment[0, 0])) == (0, 2**63 - 1)
    assert not compile_rows(
        *rows, {"id": "odd", "size": 0, "alignment": 5, "alias_of": "a", "alias_offset": 1}
    ).allowed.any()


def test_instance_load_is_exact_beyond_int64() -> None:
    instance = compile_rows(*({"id": k, "size": 2**62 - k, "start": 0, "end": 1} for k in range(4)))
    assert not instance.is_small_numbered
    assert (instance.loads().tolist(), instance.pools[0].capacity) == ([4 * 2**62 - 6], 2**63 - 1)


def test_pool_capacities_in_bytes_fit_int64_in_any_unit() -> None:
    for size in (2, 3, 2**40):
        instance = compile_rows(A | {"size": size}, pools=[{"name": "x"}, {"name": "y", "size": 2**63 - 1}])
        assert all(memory.capacity * instance.unit <= 2**63 - 1 for memory in instance.pools)


def test_reserved_ranges_are_merged_and_clipped_to_the_pool_size() -> None:
    ranges = [[10, 5], [0, 2], [2, 3], [12, 9], [30, 9], [40, 0], [50, 5]]
    instance = compile_rows(A, pools=[{"size": 32, "reserved": ranges}])
    assert instance.pools[0].reserved.tolist() == [[0, 5], [10, 21], [30, 32]]


def test_zero_size_buffers_are_placed_without_raising_the_peak() -> None:
    pools = [{"name": "x", "base_address": 1, "size": 64}, {"name": "y"}]
    problem = Problem.model_validate({"buffers": [A, B | {"size": 0, "alignment": 8}], "pools": pools})
    placed = lift(problem, compile_problem(problem), column([0]), column([0]))
    assert [(row.id, row.pool, row.offset) for row in placed] == [("a", "x", 0), ("b", "y", 0)]


POOLS = [{"name": "fast", "cost": 1}, {"name": "slow", "cost": 2.5}]
ROWS = [{"id": "a", "size": 40, "start": 0, "end": 2}, {"id": "b", "size": 20, "start": 1, "end": 3, "traffic": 7}]


def instance(**fields: Any) -> Instance:
    return compile_problem(Problem.model_validate({"buffers": ROWS, "pools": POOLS, **fields}))


def test_costs_are_rounded_down_so_that_bounds_stay_valid() -> None:
    assert cost_of([(2, 0.1), (1, 0.1)]) == 0.3  # adding floats would give 0.30000000000000004
    for exact in (Fraction(1, 3), Fraction(2, 3), Fraction(10**17 + 1, 10**17), Fraction(2**60 + 1), Fraction(0)):
        assert exact * (1 - Fraction(1, 2**52)) <= Fraction(repr(rounded_down(exact))) <= exact
    assert gap_text(0.00001) == "0.01%"  # a positive gap must not be shown as 0
    assert [gap_text(gap) for gap in (0.0, 0.07, 0.12345, None)] == ["0.00%", "7.00%", "12.35%", "unknown"]


def test_the_score_prefers_a_lower_end_in_the_last_pool() -> None:
    assert score(instance(), column([0, 0]), column([50, 60])) < score(instance(), column([0, 1]), column([0, 0]))


PAIRS = [*buffer_rows(a=(4, 0, 2), b=(8, 1, 3), c=(8, 3, 4)), {"id": "whole", "size": 8, "alias_of": "b"}]
TWO_POOLS = [{"name": "x", "bank_size": 8, "base_address": 4}, {"name": "y"}]


def placement_table(*places: tuple[str, str, int]) -> PlacementTable:
    return PlacementTable.from_rows(Placement(id=name, pool=pool, offset=offset) for name, pool, offset in places)


def test_two_live_buffers_at_one_offset_are_listed_as_shared() -> None:
    may_share = [["c", "b"], ["whole", "a"], ["a", "c"]]
    problem = Problem.model_validate({"buffers": PAIRS, "pools": TWO_POOLS, "may_share": may_share})
    instance = compile_problem(problem)
    everywhere_0 = placement_table(("a", "x", 0), ("b", "x", 0), ("c", "x", 0), ("whole", "x", 0))
    assert shared_pairs(problem, instance, everywhere_0) == (("whole", "a"),)
    apart = placement_table(("a", "x", 8), ("b", "x", 0), ("c", "x", 0), ("whole", "x", 0))
    elsewhere = placement_table(("a", "y", 0), ("b", "x", 0), ("c", "x", 0), ("whole", "x", 0))
    assert shared_pairs(problem, instance, apart) == shared_pairs(problem, instance, elsewhere) == ()


def test_buffers_and_their_aliases_that_touch_a_common_bank_clash() -> None:
    uses = [{"buffers": ["a", "c"]}, {"buffers": ["c", "whole", "a"], "weight": 0}]
    problem = Problem.model_validate({"buffers": PAIRS, "pools": TWO_POOLS, "bank": uses})
    assert bank_clashes(problem, placement_table(("a", "x", 0), ("b", "x", 8), ("c", "x", 20), ("whole", "x", 8))) == ()
    low = placement_table(("a", "x", 0), ("b", "x", 3), ("c", "x", 11), ("whole", "x", 3))
    assert bank_clashes(problem, low) == (("c", "whole"), ("whole", "a"))
    assert bank_clashes(problem, placement_table(("a", "y", 0), ("b", "y", 0), ("c", "y", 0), ("whole", "y", 0))) == ()


@given(data=st.data())
def test_the_verifier_accepts_the_reported_shared_pairs_and_bank_clashes(data: st.DataObject) -> None:
    problem = data.draw(tied_problems(4))
    rows = {row.id: row for row in data.draw(placements(problem))}
    names = {pool.name for pool in problem.pools}
    if len(rows) < len(problem.buffers) or not {row.pool for row in rows.values()} <= names:
        return
    table = PlacementTable.from_rows(rows[name] for name in problem.buffers.ids)
    pairs = shared_pairs(problem, compile_problem(problem), table), bank_clashes(problem, table)
    plan = Plan(placements=table, shared=pairs[0], bank_clashes=pairs[1])
    assert [violation.message for violation in verify(problem, plan) if violation.rule == "false-claim"] == []


def test_an_instance_can_be_pickled_while_another_thread_fills_its_cached_properties() -> None:
    instance = compile_problem(Problem(buffers=[A]))
    completed = []

    class Slow:
        """A value that pickles slowly enough for another thread to read the instance meanwhile."""

        def __reduce__(self) -> tuple[type[int], tuple[()]]:
            completed.append(instance.fixed_end)
            return int, ()

    vars(instance)["slow"] = Slow()
    assert len(pickle.loads(pickle.dumps(instance))) == 1
    assert len(completed) == 1
