"""Equivalent problems have the same hash, and different problems have different hashes."""

import subprocess
import sys
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan.planner.instance.canonical import canonical_order, problem_hash
from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.instance.objective import score
from memplan.planner.model.buffer_table import BufferTable, column
from memplan.planner.model.problem import Problem
from tests.support.oracle import check
from tests.support.renaming import rename, retime, scale
from tests.support.strategies import raw_problems

A: dict[str, Any] = {"id": "a", "size": 40, "start": 0, "end": 3}
B: dict[str, Any] = {"id": "b", "size": 24, "start": 2, "end": 6}
C: dict[str, Any] = {"id": "c", "size": 32, "start": 5, "end": 9}
POOLS: list[dict[str, Any]] = [{"name": "x", "size": 80, "reserved": [[64, 8]], "cost": 1}, {"name": "y"}]


def hash_data(data: dict[str, Any]) -> str:
    return problem_hash(Problem.model_validate(data))


@given(data=raw_problems(4, roomy=True), k=st.integers(1, 3))
def test_an_assignment_transfers_to_an_equivalent_renamed_scaled_problem(data: dict[str, Any], k: int) -> None:
    """The k-th buffers in canonical order correspond, so offsets in units transfer unchanged."""
    problem, other = (Problem.model_validate(value) for value in (data, scale(rename(retime(data)), k)))
    mine, theirs = compile_problem(problem), compile_problem(other)
    if len(mine) == 0 or mine.unplaceable:
        return
    pool = column(mine.allowed.argmax(axis=0))
    offset = []
    for i, q in enumerate(pool.tolist()):
        step, start, low = int(mine.alignment[q, i]), int(mine.lowest[q, i]), 1000 * i
        offset.append(int(mine.pin[i]) if mine.pin[i] >= 0 else start + -(-(low + 100 - start) // step) * step)
    if check(problem, lift(problem, mine, pool, column(offset))):
        return
    moved_pool, moved_offset = pool.copy(), column(offset).copy()
    moved_pool[canonical_order(theirs)] = pool[canonical_order(mine)]
    moved_offset[canonical_order(theirs)] = column(offset)[canonical_order(mine)]
    assert check(other, lift(other, theirs, moved_pool, moved_offset)) == []
    assert score(theirs, moved_pool, moved_offset)[-1] == score(mine, pool, column(offset))[-1]


BASE: dict[str, Any] = {"buffers": [A, B, C], "pools": POOLS, "conflicts": [["a", "c"]], "objective": "cost"}


@pytest.mark.parametrize(
    "changed",
    [
        {"buffers": [C, A, B]},
        {"buffers": [A | {"hint": 8}, B, C]},
        {"buffers": [A | {"alignment": 4}, B, C]},
        {"buffers": [A | {"traffic": 40}, B, C]},
        {"buffers": [A | {"end": None, "start": None, "lifetimes": [[0, 1], [1, 3]]}, B, C]},
        {"buffers": [A, B | {"end": 8}, C | {"start": 7}]},
        {"buffers": [A, B, C, {"id": "d", "size": 0, "start": 0, "end": 9}]},
        {"conflicts": [["c", "a"], ["a", "c"], ["b", "b"]]},
        {"pools": [POOLS[0] | {"size": 87, "reserved": [[64, 4], [66, 6]]}, POOLS[1]]},
    ],
)
def test_fields_that_do_not_affect_plans_do_not_affect_the_hash(changed: dict[str, Any]) -> None:
    assert hash_data(BASE | changed) == hash_data(BASE)


def test_costs_affect_the_hash_only_under_the_cost_objective() -> None:
    plain = BASE | {"objective": "peak"}
    dearer = {"pools": [POOLS[0] | {"cost": 9}, POOLS[1]], "buffers": [A | {"traffic": 1}, B, C]}
    assert hash_data(plain | dearer) == hash_data(plain)


def test_the_hash_distinguishes_conflict_graphs_up_to_isomorphism() -> None:
    rows = [{"id": k, "size": 8} for k in range(6)]
    path = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]
    other_path = [[3, 5], [5, 0], [0, 2], [2, 4], [4, 1]]
    two_triangles = [[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3]]
    ring = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 0]]
    assert hash_data({"buffers": rows, "conflicts": path}) == hash_data({"buffers": rows, "conflicts": other_path})
    assert hash_data({"buffers": rows, "conflicts": two_triangles}) != hash_data({"buffers": rows, "conflicts": ring})


D: dict[str, Any] = {"id": "d", "size": 16, "start": 5, "end": 7}
TIED: dict[str, Any] = {
    "buffers": [A | {"no_cross": 64}, B, C, D | {"relative": {"to": "b", "offset": 48}}],
    "pools": [{"name": "x", "cost": 1, "bank_size": 128}, {"name": "y", "base_address": 8}],
    "may_share": [["a", "b"]],
    "bank": [{"buffers": ["b", "c"]}, {"buffers": ["a", "c", "d"], "weight": 3}],
    "together": [["a", "b"]],
    "objective": "cost",
}


@pytest.mark.parametrize(
    "changed",
    [
        {"may_share": [["b", "a"], ["a", "b"]]},
        {"bank": [{"buffers": ["d", "a", "c"], "weight": 3}, {"buffers": ["c", "b"]}, {"buffers": ["b", "c"]}]},
        {
            "bank": [
                {"buffers": ["b", "c"]},
                *({"buffers": pair, "weight": 1.5} for pair in (["a", "c"], ["a", "d"], ["d", "c"]) for _ in range(2)),
            ]
        },
        {"together": [["d", "a"], ["b", "d"], ["c"]]},
        {
            "buffers": [
                D,
                A | {"no_cross": 64},
                {"id": "view", "size": 8, "traffic": 0, "alias_of": "d", "alias_offset": 8},
                B | {"relative": {"to": "view", "offset": -56}},
                C,
            ]
        },
    ],
)
def test_equivalent_spellings_of_a_constraint_have_the_same_hash(changed: dict[str, Any]) -> None:
    assert hash_data(TIED | changed) == hash_data(TIED)


STEPS = """
import sys
from collections import Counter
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.problem import Problem

for n_pools in (100, 400):
    pools, buffers = [{"name": str(k)} for k in range(n_pools)], [{"id": "a", "size": 8, "start": 0, "end": 1}]
    problem = Problem.model_validate({"buffers": buffers, "pools": pools})
    instance, calls = compile_problem(problem), Counter()
    sys.setprofile(lambda frame, event, argument: calls.update((event,)))
    problem_hash(problem, instance)
    sys.setprofile(None)
    print(calls["call"] + calls["c_call"])
"""
"""Script that prints how many function calls hashing a problem of one buffer takes, for 100 and for 400 pools.

It runs in a separate process, because the profiler would also count finalizers of objects of earlier tests.
"""


def test_hashing_time_grows_linearly_with_the_number_of_pools() -> None:
    found = subprocess.run([sys.executable, "-c", STEPS], check=True, capture_output=True, text=True, timeout=100)
    few, many = map(int, found.stdout.split())
    assert 100 < many < 5 * few


def test_hashing_large_problems_retains_no_memory() -> None:
    def hash_long(n: int) -> str:
        times = range(n)
        return problem_hash(Problem(buffers=BufferTable.from_columns(times, [1] * n, times, range(1, n + 1))))

    hash_long(20_000)
    tracemalloc.start()
    try:
        for n in range(20_000, 20_020):
            hash_long(n)
        held_bytes = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held_bytes < 2**20  # caching any one default column would hold 0.6 MB per problem
