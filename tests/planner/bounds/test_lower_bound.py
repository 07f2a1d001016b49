"""Lower bounds and cliques: never above the optimum of brute force, and equal to the recorded values."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan.planner.bounds import cliques
from memplan.planner.bounds.cliques import heavy_clique
from memplan.planner.bounds.demand import Reserve
from memplan.planner.bounds.lower_bound import Bound, live_bytes, lower_bound
from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.lint.problems import lint
from memplan.planner.model.buffer_table import BufferTable
from memplan.planner.model.problem import Problem
from tests.support import public_problems
from tests.support.bound_checks import check_that_it_is_never_above_the_optimum
from tests.support.families import conflicts, families
from tests.support.strategies import problems

A = {"id": "a", "size": 4, "start": 0, "end": 2}
B = {"id": "b", "size": 3, "start": 1, "end": 3}
C = {"id": "c", "size": 2, "start": 2, "end": 4}


def bound(*buffers: dict[str, Any], **fields: Any) -> Bound:
    return lower_bound(compile_problem(Problem.model_validate({"buffers": list(buffers), **fields})))


@given(problem=problems(5))
def test_the_lower_bound_never_exceeds_the_optimum(problem: Problem) -> None:
    check_that_it_is_never_above_the_optimum(problem)


@given(problem=problems(6))
def test_buffers_named_by_a_witness_conflict_pairwise(problem: Problem) -> None:
    instance = compile_problem(problem)
    found = lower_bound(instance)
    groups = {family.members[0][1].id: family for family in families(problem)}
    for witness in filter(None, (found.witness, found.nothing_fits)):
        members = [groups[problem.buffers.ids[int(instance.source[i])]] for i in witness.buffers]
        assert all(conflicts(problem, a, b) for a in members for b in members if a is not b)
        if witness.time is not None:
            time = witness.time
            assert all(any(start <= time < end for start, end in family.intervals) for family in members)


HOLES = ([[0, 1], [2, 3]], [[0, 1], [4, 5]], [[2, 3], [4, 5]])
"""Lifetimes that overlap in pairs, at three different times."""


@pytest.mark.parametrize(
    ("found", "score", "kind"),
    [
        (bound(), (0,), "empty"),
        (bound(A), (1,), "live-set"),
        (bound(A, B, C), (7,), "live-set"),
        (bound(A, B, pools=[{"reserved": [[2, 9]]}]), (16,), "live-set"),
        (bound(A | {"alignment": 4}, B | {"alignment": 4}), (7,), "live-set"),
        (bound(A | {"size": 5, "alignment": 4}, B | {"size": 6, "alignment": 8}), (13,), "alignment"),
        (bound(A, *({"id": k, "size": 5, "start": 0, "end": 9, "alignment": 8} for k in range(3))), (21,), "alignment"),
        (bound(*({**row, "alignment": 8} for row in (A, B)), pools=[{"base_address": 3}]), (16,), "alignment"),
        (bound(A, B | {"offset": 9}), (12,), "pinned"),
        (bound(A | {"alignment": 6}, pools=[{"base_address": 4}]), (3,), "largest-buffer"),
        (bound(A, C, conflicts=[["a", "c"]]), (3,), "clique"),
        (bound(*({"id": k, "size": 5 + k} for k in range(3)), conflicts=[[0, 1], [1, 2], [2, 0]]), (18,), "clique"),
        (bound(*({"id": k, "size": 5 + k, "lifetimes": HOLES[k]} for k in range(3))), (18,), "clique"),
        (bound(A, B, pools=[{"name": "x", "size": 4}, {"name": "y"}]), (3, 4), "live-set"),
        (bound(A, B, pools=[{"name": "x", "cost": 2}, {"name": "y"}], objective="cost"), (0.0, 0, 7), "live-set"),
    ],
)
def test_each_kind_of_lower_bound_has_a_score_and_a_witness(found: Bound, score: tuple[float, ...], kind: str) -> None:
    assert (found.score, found.witness.kind) == (score, kind)
    assert found.nothing_fits is None


@pytest.mark.parametrize(
    ("found", "kind", "missing"),
    [
        (bound(A, B, pools=[{"size": 6}]), "capacity", 1),
        (bound(A, pools=[{"size": 3}]), "capacity", None),
        (bound(A, B, pools=[{"size": 9, "reserved": [[2, 3]]}]), "capacity", 1),
        (bound(A, B, C | {"start": 1}, pools=[{"name": "x", "size": 5}, {"name": "y", "size": 3}]), "capacity", 1),
        (bound(A | {"size": 5}, B | {"size": 5}, pools=[{"alignment": 4, "size": 12}]), "capacity", 1),
        (bound(A, C, conflicts=[["a", "c"]], pools=[{"size": 5}]), "clique", 1),
        (bound(*({**r, "end_at_most": 4} for r in (A, B)), pools=[{"size": 2}, {"name": "y"}]), "capacity", None),
    ],
)
def test_a_bound_above_the_capacity_is_told_with_missing_bytes(found: Bound, kind: str, missing: int | None) -> None:
    assert found.nothing_fits is not None
    assert (found.nothing_fits.kind, found.nothing_fits.missing) == (kind, missing)


def test_bounds_are_exact_beyond_int64() -> None:
    huge = [{"id": k, "size": 2**62 - 1, "start": 0, "end": 1} for k in range(5)]
    assert bound(*huge, A).nothing_fits is not None
    found = bound(*huge, A | {"size": 1, "end": 1})
    assert (found.total, found.score) == (5 * (2**62 - 1) + 1, (5 * (2**62 - 1) + 1,))


def test_a_reserved_range_at_the_end_of_the_address_space_does_not_raise_the_lower_bound() -> None:
    found = bound(A, B | {"size": 2**61 + 3, "alignment": 32}, pools=[{"alignment": 16, "reserved": [[2**62, 2**62]]}])
    assert found.nothing_fits is None
    assert found.score == (2**61 + 3 + 16,)


def test_live_bytes_returns_the_time_and_bytes_of_each_live_set() -> None:
    rows = [A | {"size": 400}, B | {"size": 300}, C | {"size": 200}]
    instance = compile_problem(Problem.model_validate({"buffers": rows}))
    assert (instance.unit, live_bytes(instance)) == (100, [(1, 700), (2, 500)])


def test_live_bytes_counts_bytes_shared_by_relative_offsets_once() -> None:
    inside = C | {"size": 200, "start": 1, "end": 2, "relative": {"to": "a", "offset": 100}}
    instance = compile_problem(Problem.model_validate({"buffers": [A | {"size": 400, "start": 0, "end": 3}, inside]}))
    assert max(size for _, size in live_bytes(instance)) == 400


@given(problem=problems(6))
def test_live_bytes_equals_the_sum_of_sizes_of_live_buffers(problem: Problem) -> None:
    groups = families(problem)
    for time, size in live_bytes(compile_problem(problem)):
        alive = [family for family in groups if any(start <= time < end for start, end in family.intervals)]
        assert size == sum(family.size for family in alive)


def test_the_lower_bound_is_computed_for_seventy_pools() -> None:
    names = [f"pool{k}" for k in range(70)]
    rows = [{"id": k, "size": 8, "start": 0, "end": 1, "pools": [names[k]]} for k in range(70)]
    found = bound(*rows, pools=[{"name": name, "size": 8} for name in names])
    assert found.nothing_fits is None
    assert found.total == 70
    assert np.array_equal(found.score, np.ones(70))


def weight(instance: Instance) -> int:
    return int(instance.size[heavy_clique(instance)].sum())


@given(problem=problems(7))
def test_members_of_a_heavy_clique_conflict_pairwise(problem: Problem) -> None:
    instance = compile_problem(problem)
    groups = {family.members[0][1].id: family for family in families(problem)}
    members = [groups[problem.buffers.ids[int(instance.source[i])]] for i in heavy_clique(instance)]
    assert all(conflicts(problem, first, second) for first, second in combinations(members, 2))
    assert weight(instance) >= int(instance.size.max(initial=0))


@pytest.mark.parametrize("seed", range(20))
def test_heavy_clique_finds_the_largest_live_set_from_equivalent_explicit_conflicts(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = 60
    size, start = random.integers(1, 100, n), random.integers(0, 40, n)
    end = start + random.integers(1, 12, n)
    pairs = [(i, j) for i, j in combinations(range(n), 2) if start[i] < end[j] and start[j] < end[i]]
    by_time = compile_problem(Problem(buffers=BufferTable.from_columns(range(n), size, start, end)))
    rows = [{"id": k, "size": int(size[k])} for k in range(n)]
    by_pairs = compile_problem(Problem.model_validate({"buffers": rows, "conflicts": pairs}))
    assert weight(by_pairs) * by_pairs.unit == int(by_time.loads().max()) * by_time.unit


def test_heavy_clique_combines_lifetimes_and_explicit_conflicts() -> None:
    rows = [{"id": k, "size": 1, "start": k, "end": k + 2} for k in range(3)]
    instance = compile_problem(Problem.model_validate({"buffers": rows, "conflicts": [[0, 2]]}))
    assert heavy_clique(instance).tolist() == [0, 1, 2]


def test_heavy_clique_is_empty_for_too_many_conflicts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cliques, "_EDGES_AT_MOST", 3)
    rows = [{"id": k, "size": 1, "start": 0, "end": 2} for k in range(3)]
    assert weight(compile_problem(Problem.model_validate({"buffers": rows, "conflicts": [[0, 2]]}))) == 2
    assert weight(compile_problem(Problem.model_validate({"buffers": rows, "conflicts": [[0, 2], [1, 2]]}))) == 0


@st.composite
def ranges(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Draw ascending disjoint ranges, some of them empty or adjacent."""
    edges = sorted(draw(st.lists(st.integers(0, 30), max_size=8)))
    return list(zip(edges[::2], edges[1::2], strict=False))


def free_bytes(reserved: list[tuple[int, int]]) -> list[bool]:
    return [not any(low <= byte < high for low, high in reserved) for byte in range(100)]


@given(ranges(), st.integers(0, 60))
def test_reserve_free_below_counts_the_unreserved_bytes_below_an_end(reserved: list[tuple[int, int]], end: int) -> None:
    assert Reserve(reserved).free_below(end) == sum(free_bytes(reserved)[:end])


@given(ranges(), st.integers(0, 60))
def test_reserve_reach_is_the_smallest_end_with_enough_free_bytes(reserved: list[tuple[int, int]], amount: int) -> None:
    free = free_bytes(reserved)
    assert Reserve(reserved).reach(amount) == next(end for end in range(100) if sum(free[:end]) == amount)


FOLDERS = sorted(folder.name for folder in public_problems.FOLDER.iterdir() if folder.is_dir())
RECORDED = {f"{name}/{row['file']}": row for name in FOLDERS for row in public_problems.read_index(name)}


def test_the_indexes_of_public_problems_list_every_file() -> None:
    folder = public_problems.FOLDER
    assert sorted(RECORDED) == sorted(path.relative_to(folder).as_posix() for path in folder.glob("*/*.csv"))


@pytest.mark.parametrize("name", RECORDED)
def test_the_largest_live_set_of_a_public_problem_is_the_recorded_bound(name: str) -> None:
    problem, told = public_problems.problem(name), RECORDED[name]
    instance = compile_problem(problem)
    assert (len(problem.buffers), sum(row.size for row in problem.buffers)) == (told["n_buffers"], told["total_bytes"])
    assert max(size for _, size in live_bytes(instance)) == told["lower_bound"]
    assert lower_bound(instance).total * instance.unit >= told["lower_bound"]


@pytest.mark.parametrize("name", RECORDED)
def test_lint_has_no_findings_on_real_problems(name: str) -> None:
    assert lint(public_problems.problem(name)) == ()
