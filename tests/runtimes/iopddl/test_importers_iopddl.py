"""Tests of the reader of IOPDDL problems: buffer sizes follow the chosen strategy; malformed problems are refused."""

import json
from typing import Any

import pytest

from memplan.planner.errors import FormatError
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import detect, read_model

NODES = {"intervals": [[0, 40], [0, 90], [5, 5]], "costs": [[15, 20], [10], [1]], "usages": [[10, 5], [25], [0]]}
EXAMPLE: dict[str, Any] = {"problem": {"name": "example", "nodes": NODES, "edges": {"nodes": []}, "usage_limit": 50}}


@pytest.mark.parametrize(("solution", "sizes"), [({}, [5, 25]), ({"solution": [0, 0, 0]}, [10, 25])])
def test_a_buffer_has_the_usage_of_the_chosen_or_cheapest_strategy(solution: dict[str, Any], sizes: list[int]) -> None:
    data = json.dumps(EXAMPLE | solution).encode()
    assert detect(data) == "iopddl"
    problem = read_model(data, None, ModelOptions()).problem
    assert (problem.buffers.size.tolist(), problem.buffers.end.tolist()) == (sizes, [40, 90])
    assert (problem.name, problem.pools[0].size) == ("example", 50)


@pytest.mark.parametrize(
    "nodes", [{**NODES, "usages": [[1]]}, {**NODES, "intervals": [[1], [2], [3]]}, {"intervals": []}]
)
def test_a_malformed_iopddl_problem_is_refused(nodes: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match="must be an IOPDDL problem"):
        read_model(json.dumps({"problem": {"nodes": nodes}}).encode(), None, ModelOptions())
