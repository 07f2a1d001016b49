"""dsa-solver's canonical greedy pays what the original pays, and places where it pays least."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memplan import read_problem, solve
from memplan.planner.model.problem import Problem

LIBRARY = Path(__file__).parents[3] / "library/reuse/problems"
NAME = "reference:dsa-canonical-greedy"


@pytest.mark.parametrize(("lift", "price"), [("a", 326), ("f", 135)])
def test_lifts_cost_what_the_original_pays(lift: str, price: int) -> None:
    """F is where first fit pays more, 616. Source: dsa-solver a8d1257, benchmarks/results/minimalloc-dsa-rp-v1."""
    plan = solve(read_problem(LIBRARY / f"dsa-solver-lift_{lift}.json"), solver=NAME, time_limit_s=60)
    assert plan.cost == price


def problem(*sizes: int, **fields: Any) -> Problem:
    """Buffers one after the other, the first 4 bytes of their pool reserved."""
    rows = [{"id": k, "size": size, "start": k, "end": k + 1, "alignment": 8} for k, size in enumerate(sizes)]
    pools = [{"name": "ub", "size": 32, "reserved": [[0, 4]]}]
    return Problem.model_validate({"buffers": rows, "pools": pools, "objective": "cost", **fields})


@pytest.mark.parametrize(
    ("fields", "offsets"),
    [
        ({"reuse": [{"pairs": [[0, 1], [1, 2]], "cost": 1}]}, [8, 24, 8]),
        ({"reuse": [{"pairs": [[0, 1], [0, 2], [1, 2]], "cost": 1}, {"pairs": [[0, 2]], "cost": 4}]}, [8, 24, 24]),
        ({"reuse": [{"pairs": [[0, 1]], "cost": 1}], "conflicts": [[0, 2]]}, [8, 24, 24]),
    ],
    ids=["on a neighbour", "where it costs less", "above what conflicts"],
)
def test_each_lies_where_it_pays_least(fields: Any, offsets: list[int]) -> None:
    plan = solve(problem(12, 8, 8, **fields), solver=NAME, time_limit_s=60)
    assert plan.placements.offset.tolist() == offsets


def test_a_pool_without_a_size_has_no_plan() -> None:
    plan = solve(problem(8, 8, reuse=[{"pairs": [[0, 1]], "cost": 1}], pools=[{"name": "ub"}]), solver=NAME)
    assert plan.explanation is not None
    assert "a size that is given" in plan.explanation.message
