"""Relay's storage tokens: the storages of its own tests, and the rules that make them."""

from __future__ import annotations

import pytest

from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.solve import solve


def problem(*rows: tuple[int, int, int], alignment: int = 1, capacity: int | None = None) -> Problem:
    """Return buffers b0, b1, ... of (size, start, end)."""
    buffers = [{"id": f"b{i}", "size": size, "start": start, "end": end} for i, (size, start, end) in enumerate(rows)]
    return Problem.model_validate({"buffers": buffers, "pools": [{"alignment": alignment, "size": capacity}]})


def offsets(wanted: Problem) -> list[int]:
    return [row.offset for row in solve(wanted, solver="reference:relay-storage-tokens").placements]


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        # tests/python/relay/test_backend_graph_executor.py, test_plan_memory, behind its parameters: two take turns.
        ([(4, 0, 9), *((40, k, k + 2) for k in range(1, 7))], [0, 4, 44, 4, 44, 4, 44]),
        # Of 30, 10 and 20 free bytes, 15 take the smallest that is large enough.
        ([(30, 0, 2), (10, 0, 2), (20, 0, 2), (400, 1, 3), (15, 2, 4)], [0, 30, 40, 60, 40]),
        # Of equal ones, the first freed.
        ([(8, 0, 3), (8, 0, 2), (8, 4, 5)], [0, 8, 8]),
    ],
)
def test_storages_are_those_of_the_original(rows: list[tuple[int, int, int]], wanted: list[int]) -> None:
    assert offsets(problem(*rows)) == wanted


@pytest.mark.parametrize(
    ("free", "wanted", "is_reused"),
    [(160, 10, True), (161, 10, False), (10, 160, True), (10, 175, True), (10, 176, False)],
)
def test_storages_are_reused_within_sixteen_times_either_way(free: int, wanted: int, is_reused: bool) -> None:
    first, _, last = offsets(problem((free, 0, 1), (10_000, 0, 3), (wanted, 2, 3)))
    assert (first == last) == is_reused


def test_buffers_of_a_problem_lie_at_the_starts_of_storages_side_by_side() -> None:
    # b2 takes the larger of the free storages only because the other one is too small, and b3 takes that.
    assert offsets(problem((10, 0, 2), (6, 0, 2), (8, 2, 4), (3, 2, 4))) == [0, 10, 0, 10]


def test_a_storage_that_grows_moves_those_behind_it() -> None:
    assert offsets(problem((10, 0, 2), (6, 1, 5), (15, 3, 5))) == [0, 15, 0]


def test_storages_begin_at_multiples_of_the_alignment() -> None:
    assert offsets(problem((10, 0, 2), (6, 0, 2), alignment=8)) == [0, 16]


def test_storages_behind_the_capacity_are_named() -> None:
    # 12 bytes are enough, but the first storage stays beside the second one, which grows.
    plan = solve(problem((6, 0, 1), (6, 0, 1), (12, 1, 2), capacity=12), solver="reference:relay-storage-tokens")
    assert plan.status == "unknown"
    assert plan.explanation is not None
    assert plan.explanation.buffers == ("b1", "b2")
