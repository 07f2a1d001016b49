"""Tests that reimplemented planners of other systems return the same offsets as the original planners."""

import hashlib
import json
import random
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import pytest

from memplan.planner.model.problem import Problem
from memplan.planner.systems import reference_planners
from memplan.runtimes.std_sort import std_sorted
from memplan.solvers.portfolio.solve import solve

Row = tuple[int, int, int]
"""A buffer as (size in bytes, start, end)."""


def planner_input(seed: int) -> list[Row]:
    """Return 1 to 60 random buffers with few or many distinct sizes and short or long lifetimes."""
    draw = random.Random(seed)
    sizes = [draw.randint(1, 4096) for _ in range(draw.choice((2, 5, 1000)))]
    horizon, longest = draw.choice((8, 30, 100)), draw.choice((3, 20))
    rows = []
    for _ in range(draw.randint(1, 60)):
        start = draw.randrange(horizon)
        rows.append((draw.choice(sizes), start, start + draw.randint(1, longest)))
    return rows


def digest(answers: Iterable[Sequence[int]]) -> str:
    return hashlib.sha256("\n".join(" ".join(map(str, row)) for row in answers).encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    ("planner", "rows", "expected"),
    [
        # The last buffer is placed in the smallest gap, 2 bytes at offset 7, although a gap of 4 bytes is lower.
        ("mlir-best-fit", [(4, 0, 1), (3, 0, 9), (2, 0, 1), (3, 0, 9), (2, 1, 2)], [0, 4, 7, 9, 7]),
        # The last buffer is placed directly above all live buffers, below the end of a dead buffer.
        ("mlir-best-fit", [(4, 0, 9), (4, 0, 1), (3, 1, 2), (2, 1, 2)], [0, 4, 4, 7]),
        # Buffers are placed by start time, so a large buffer that starts last is placed on top.
        ("mlir-best-fit", [(2, 0, 2), (2, 1, 3), (8, 2, 4)], [0, 2, 4]),
        ("onnxruntime-memory-pattern", [(1, 0, 2), (300, 0, 1), (200, 1, 2)], [0, 256, 256]),
    ],
)
def test_planners_in_order_of_start_time_place_each_buffer_in_the_smallest_gap(
    planner: str, rows: list[tuple[int, int, int]], expected: list[int]
) -> None:
    buffers = [{"id": k, "size": size, "start": start, "end": end} for k, (size, start, end) in enumerate(rows)]
    assert solve(Problem(buffers=buffers), solver=f"reference:{planner}").placements.offset.tolist() == expected


RECORDED: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("runtime_planners.json").read_text())
"""Maps a planner, then a number of inputs, to the hash of the original planner's offsets for these inputs."""


def problem(rows: list[Row]) -> Problem:
    """Return the problem of these buffers; for nntrainer, every third buffer has the name of a weight's gradient."""
    named = zip([f"b{k}:grad" if k % 3 == 0 else f"b{k}" for k in range(len(rows))], rows, strict=True)
    return Problem(buffers=[{"id": n, "size": s, "start": a, "end": b} for n, (s, a, b) in named])


@cache
def draw_problem(seed: int) -> Problem:
    return problem(planner_input(seed))


def offsets(planner: str, wanted: Problem) -> list[int]:
    placements = reference_planners()[f"reference:{planner}"].load()(wanted, 0, lambda: None).placements
    return [placements[k][1] for k in range(len(wanted.buffers))]


@pytest.mark.parametrize("planner", RECORDED)
@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_offsets_of_a_planner_equal_those_of_the_original(planner: str, count: int) -> None:
    assert digest([offsets(planner, draw_problem(seed)) for seed in range(count)]) == RECORDED[planner][str(count)]


def test_the_explanation_lists_gradients_whose_bytes_overlap_in_the_plan_of_nntrainer_v2() -> None:
    plan = solve(problem([(8, 1, 2), (1, 0, 1), (1, 0, 1), (4, 0, 4)]), solver="reference:nntrainer-v2")
    assert (plan.status, set(plan.explanation.buffers)) == ("unknown", {"b0:grad", "b3:grad"})


@pytest.mark.parametrize("planner", RECORDED)
def test_planners_of_systems_respect_alignments(planner: str) -> None:
    rows = [{"id": k, "size": 10 + k, "start": k, "end": k + 3, "alignment": 64} for k in range(6)]
    plan = solve(Problem(buffers=rows), solver=f"reference:{planner}")
    assert plan.status in ("optimal", "feasible")
    assert all(offset % 64 == 0 for offset in plan.placements.offset.tolist())


def test_std_sort_reorders_more_than_sixteen_equal_elements() -> None:
    rows = list(range(20))
    assert std_sorted(rows[:16], lambda a, b: False) == rows[:16]
    assert sorted(std_sorted(rows, lambda a, b: False)) == rows != std_sorted(rows, lambda a, b: False)
