"""`memplan schedule`: refusals in sentences, targets of the caller's own, and answers for people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memplan import ScheduleProblem, Target, schedule
from memplan.capabilities.operations.schedule import EXAMPLE, ScheduleOptions, lines
from memplan.planner.errors import ProblemError
from memplan.planner.schedules.simulator import simulate

EXAMPLES = Path(__file__).parents[3] / "examples" / "schedules"


def example(name: str) -> Any:
    return json.loads((EXAMPLES / name).read_text())


def test_the_third_example_of_the_contest_takes_no_longer_than_its_arithmetic() -> None:
    found = schedule(ScheduleProblem.model_validate(EXAMPLE))
    assert (found.status, found.latency, found.subgraphs) == ("optimal", 4500.0, ((0, 1, 2),))


def test_copies_alignment_and_latency_of_a_target_have_their_price() -> None:
    problem = ScheduleProblem.model_validate(example("attention.json"))
    target = Target.model_validate(example("double_buffered.json"))
    plain, priced = schedule(problem), schedule(problem, target)
    assert plain.latency < priced.latency
    assert simulate(problem.graph, target, priced.schedule).violations == ()
    assert all(slot.offset % 64 == slot.size % 64 == 0 for slot in priced.slots)


def test_less_traffic_may_take_longer() -> None:
    problem = ScheduleProblem.model_validate(example("attention.json"))
    quick, little = schedule(problem), schedule(problem, options=ScheduleOptions(objective="traffic"))
    assert little.traffic < quick.traffic
    assert little.latency > quick.latency


def test_the_lines_have_every_step() -> None:
    found = schedule(ScheduleProblem.model_validate(EXAMPLE))
    assert [text for text in lines(found) if text.startswith("step")] == [
        "step 0: operations 0, 1, 2 in 128 x 128 tiles, slices of 1, 4,500.0"
    ]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"heights": [128] * 3}, "heights: must be as many as widths (4), got 3"),
        ({"inputs": [[0], [1], [1, 9]]}, "inputs[2][1]: must be a tensor, less than 4, got 9"),
        ({"inputs": [[0], [1], []]}, "inputs[2]: must be one or more tensors, got []"),
        ({"outputs": [[1], [2], [2]]}, "outputs[2]: must be made once, got 2 again (first by operation 1)"),
        ({"inputs": [[3], [1], [1, 2]]}, "inputs[0]: must not depend on what the operation itself makes, over a cycle"),
        ({"widths": [128, 128, 128, 64]}, "inputs[2][0]: must be 128 x 64, as the output is, got 128 x 128"),
        ({"fast_memory_capacity": 1}, "fast_memory_capacity: must hold what an element of tensor 1 needs, got 1"),
        ({"op_types": ["MatMul", "Pointwise", "Pointwise"]}, "inputs[0]: must be 2 tensors, got [0]"),
    ],
)
def test_what_is_no_graph_is_refused_with_object_rule_and_value(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ProblemError) as refused:
        schedule(ScheduleProblem.model_validate(EXAMPLE | changes))
    assert sentence in refused.value.sentences


def test_a_target_has_a_fast_memory_a_slow_one_and_a_link() -> None:
    fields = {**example("double_buffered.json"), "memories": [{"name": "fast"}, {"name": "slow"}], "links": []}
    with pytest.raises(ProblemError) as refused:
        Target.model_validate(fields)
    assert refused.value.sentences == (
        "memories[0].capacity: is required, for the fast memory",
        "links: must be one, between the two memories, got 0",
    )
