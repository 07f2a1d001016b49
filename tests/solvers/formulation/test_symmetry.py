from __future__ import annotations

from typing import Any

import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.problem import Problem
from memplan.solvers.formulation.subinstance import identical

ALIKE: list[dict[str, Any]] = [{"id": k, "size": 2, "start": 0, "end": 3} for k in range(3)]
NEIGHBOURS: list[dict[str, Any]] = [
    {"id": 8, "size": 1, "start": 0, "end": 1},
    {"id": 9, "size": 3, "start": 3, "end": 4},
]
POOLS = [{"name": "fast", "size": 8, "bank_size": 4}, {"name": "slow", "cost": 1}]


def groups(rows: list[dict[str, Any]], **fields: Any) -> list[list[int]]:
    return list(identical(compile_problem(Problem.model_validate({"buffers": rows, **fields}))))


def test_buffers_that_nothing_tells_apart_are_identical() -> None:
    assert groups(ALIKE) == [[0, 1, 2]]


@pytest.mark.parametrize(
    "field",
    [
        {"size": 3},
        {"end": 4},
        {"start": 1},
        {"alignment": 2},
        {"pools": ["slow"]},
        {"offset": 4, "pools": ["slow"]},
        {"no_cross": 4},
        {"offset_mod": {"modulus": 4, "remainder": 2}},
    ],
)
def test_what_differs_in_one_field_is_not_identical(field: dict[str, Any]) -> None:
    assert groups([*ALIKE, *NEIGHBOURS], pools=POOLS) == [[0, 1, 2]]
    assert groups([ALIKE[0] | field, *ALIKE[1:], *NEIGHBOURS], pools=POOLS) == [[1, 2]]


@pytest.mark.parametrize(
    "field",
    [
        {"conflicts": [[0, 1]]},
        {"may_share": [[0, 1]]},
        {"bank": [{"buffers": [0, 1]}]},
        {"bank": [{"buffers": [0, 1], "weight": 2}], "objective": "cost"},
        {"together": [[0, 1]]},
    ],
)
def test_what_a_rule_names_together_with_others_is_not_identical(field: dict[str, Any]) -> None:
    rows = [*ALIKE, ALIKE[0] | {"id": 3}]
    assert groups(rows, pools=POOLS, **field) == [[2, 3]]
