"""Planners of runtimes give the offsets of the code that they are of, which was built once (integrations/planners)."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from memplan.planner.model.problem import Problem
from memplan.planner.systems import reference_planners
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.reference.std_sort import std_sorted
from tests.support.planner_inputs import Row, digest, planner_input

RECORDED: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("runtime_planners.json").read_text())
"""From a planner to the hashes of the original's offsets for the first inputs, by their number."""


def problem(rows: list[Row]) -> Problem:
    """Return the buffers; every third is the gradient of a weight for planners that ask."""
    names = [f"b{k}:grad" if k % 3 == 0 else f"b{k}" for k in range(len(rows))]
    return Problem.model_validate(
        {"buffers": [{"id": n, "size": s, "start": a, "end": b} for n, (s, a, b) in zip(names, rows, strict=True)]}
    )


@cache
def drawn(seed: int) -> Problem:
    return problem(planner_input(seed))


def offsets(planner: str, wanted: Problem) -> list[int]:
    placements = reference_planners()[f"reference:{planner}"].load()(wanted, 0, lambda: None).placements
    return [placements[k][1] for k in range(len(wanted.buffers))]


@pytest.mark.parametrize("planner", RECORDED)
@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_offsets_are_those_of_the_original(planner: str, count: int) -> None:
    answers = [offsets(planner, drawn(seed)) for seed in range(count)]
    assert digest(answers) == RECORDED[planner][str(count)]


def test_gradients_that_nntrainer_v2_puts_over_one_another_are_named() -> None:
    rows = [(8, 1, 2), (1, 0, 1), (1, 0, 1), (4, 0, 4)]
    plan = solve(problem(rows), solver="reference:nntrainer-v2")
    assert plan.status == "unknown"
    assert plan.explanation is not None
    assert set(plan.explanation.buffers) == {"b0:grad", "b3:grad"}


@pytest.mark.parametrize("planner", RECORDED)
def test_alignments_are_kept(planner: str) -> None:
    rows = [{"id": k, "size": 10 + k, "start": k, "end": k + 3, "alignment": 64} for k in range(6)]
    plan = solve(Problem.model_validate({"buffers": rows}), solver=f"reference:{planner}")
    assert plan.status in ("optimal", "feasible")
    assert all(offset % 64 == 0 for offset in plan.placements.offset.tolist())


def test_more_than_sixteen_equal_elements_are_left_in_another_order() -> None:
    rows = list(range(20))
    assert std_sorted(rows[:16], lambda a, b: False) == rows[:16]
    assert sorted(std_sorted(rows, lambda a, b: False)) == rows != std_sorted(rows, lambda a, b: False)
