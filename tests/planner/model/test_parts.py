"""Of much that is wrong, only as much is made as is told, at the right places."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from memplan.planner.errors import InputError
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.operations.operations import Operations
from tests.support.sentences import rules

ROW = {"id": 1, "size": 1, "start": 0, "end": 1}
MANY = 3000
WIDE = {f"x{k}": 0 for k in range(MANY)}
WRONG: dict[str, Any] = {
    "an object": WIDE | {"buffers": []},
    "a row": {"buffers": [ROW | WIDE]},
    "a pool": {"buffers": [ROW], "pools": [{"name": "a"} | WIDE]},
    "pools": {"buffers": [ROW], "pools": [1] * MANY},
    "conflicts": {"buffers": [ROW], "conflicts": [[]] * MANY},
    "entries of bank": {"buffers": [ROW], "bank": [{"buffers": [[]] * MANY}]},
    "lifetimes": {"buffers": [{"id": 1, "size": 1, "lifetimes": ["a"] * MANY}]},
    "names of pools": {"buffers": [ROW | {"pools": [1] * MANY}]},
}


@pytest.mark.parametrize("content", WRONG.values(), ids=WRONG)
def test_what_is_wrong_a_thousand_times_takes_little_memory(content: dict[str, Any]) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as caught:
            Problem.model_validate(content)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 600 * MANY
    told = caught.value.sentences
    assert told[-1] == "and more" or told == (f"pools[0]: must have at most 64 fields, got {MANY + 1}",)


def test_places_in_later_parts_are_told_as_they_are() -> None:
    pairs: list[Any] = [[1, 2]] * 700
    pairs[400], pairs[650] = [1, 2.5], 7
    rows = [ROW, ROW | {"id": 2}]
    with pytest.raises(InputError) as caught:
        Problem.model_validate({"buffers": rows, "conflicts": pairs})
    assert rules(caught.value.sentences) == (
        "conflicts[400][1]: must be a non-empty string or an integer, got 2.5",
        "conflicts[650]: must be a list, got 7",
    )


def test_plans_and_programs_are_validated_in_parts_too() -> None:
    with pytest.raises(InputError, match="and more"):
        Plan.model_validate({"placements": [{}] * MANY})
    functions: dict[str, Any] = {f"f{k}": {} for k in range(MANY)}
    assert list(Operations.model_validate({"functions": functions, "entry": "f0"}).functions) == list(functions)
    functions["f700"] = 1
    with pytest.raises(ValueError, match="f700"):
        Operations.model_validate({"functions": functions, "entry": "f0"})
