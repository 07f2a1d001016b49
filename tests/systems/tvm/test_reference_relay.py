"""Relay's storage tokens for problems, and the rules by which storages are reused."""

from __future__ import annotations

import pytest

from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.solve import solve
from memplan.systems.tvm.relay_planner import start_only_cost, token_total
from tests.support import tvm_problems as tvm


def problem(*rows: tuple[int, int, int], alignment: int = 1, capacity: int | None = None) -> Problem:
    """Return buffers b0, b1, ... of (size, start, end)."""
    buffers = [{"id": f"b{i}", "size": size, "start": start, "end": end} for i, (size, start, end) in enumerate(rows)]
    return Problem.model_validate({"buffers": buffers, "pools": [{"alignment": alignment, "size": capacity}]})


def offsets(wanted: Problem) -> list[int]:
    return [row.offset for row in solve(wanted, solver="reference:relay-storage-tokens").placements]


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


def test_what_starting_only_at_storages_costs() -> None:
    wanted = problem((6, 0, 1), (6, 0, 1), (12, 1, 2))
    best = solve(wanted).peak
    assert best == 12
    assert token_total(wanted) == 18
    assert start_only_cost(wanted, best) == 6
    assert start_only_cost(tvm.living(tvm.MOBILENET), 1_117_718) == 0


@pytest.mark.parametrize(
    ("free", "wanted", "is_reused"),
    [(160, 10, True), (161, 10, False), (10, 160, True), (10, 175, True), (10, 176, False)],
)
def test_storages_are_reused_within_sixteen_times_either_way(free: int, wanted: int, is_reused: bool) -> None:
    assert offsets(problem((free, 0, 1), (wanted, 1, 2))) == [0, 0 if is_reused else free]


def test_of_equal_free_storages_the_first_freed_is_reused_first() -> None:
    assert offsets(problem((8, 0, 3), (8, 0, 2), (8, 3, 4))) == [0, 8, 8]
