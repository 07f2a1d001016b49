from __future__ import annotations

from typing import Any

import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.problem import Problem
from memplan.solvers.formulation.subinstance import identical

ALIKE: list[dict[str, Any]] = [{"id": k, "size": 2, "start": 0, "end": 3} for k in range(3)]
POOLS = [{"name": "fast", "size": 8, "bank_size": 4}, {"name": "slow", "cost": 1}]


def groups(rows: list[dict[str, Any]], **fields: Any) -> list[list[int]]:
    return list(identical(compile_problem(Problem.model_validate({"buffers": rows, **fields}))))


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
def test_buffers_named_by_a_common_constraint_are_not_identical(field: dict[str, Any]) -> None:
    rows = [*ALIKE, ALIKE[0] | {"id": 3}]
    assert groups(rows, pools=POOLS, **field) == [[2, 3]]
