"""Fields and documents by the words of others; `tests/support/mistakes.py` has most of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import memplan
from memplan.planner.errors import InputError
from memplan.planner.model.problem import Problem

PLAIN: dict[str, Any] = {"id": "a", "size": 4, "start": 0, "end": 1}


def test_a_field_that_all_rows_have_is_told_once() -> None:
    with pytest.raises(InputError) as caught:
        Problem.model_validate({"buffers": [PLAIN | {"id": k, "lower": 0} for k in range(19)]})
    assert caught.value.sentences == ("buffers[0].lower: is not a known field (did you mean start?)",)


@pytest.mark.parametrize("data", [b'{"placements": []}', b"\x00\x01"])
def test_what_is_no_graph_is_told_for_what_it_is(data: bytes) -> None:
    with pytest.raises(InputError, match=r"got a plan, which `memplan verify|must be of a known format, got "):
        memplan.read_graph(data)


def test_operations_are_a_problem_too() -> None:
    problem = memplan.read_problem(Path(__file__).parents[2] / "examples" / "operations.json")
    assert memplan.solve(problem, time_limit_s=1).status == "optimal"
