"""Operations on matrices as `memplan schedule` takes them: refusals, machines of the caller's own, answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from memplan_tile.contest import steps_of
from memplan_tile.simulator import simulate

from memplan import ScheduleOptions, ScheduleProblem, Target, schedule
from memplan.api.cli.main import main
from memplan.capabilities.schedule.form import ScheduleAnswer
from memplan.capabilities.schedule.schedule import CAPABILITY, lines
from memplan.planner.errors import ProblemError

EXAMPLES = Path(__file__).parents[3] / "examples" / "schedules"
EXAMPLE: dict[str, Any] = {
    "widths": [128] * 4,
    "heights": [128] * 4,
    "inputs": [[0], [1], [1, 2]],
    "outputs": [[1], [2], [3]],
    "base_costs": [1500, 1500, 1500],
    "op_types": ["Pointwise", "Pointwise", "Pointwise"],
    "fast_memory_capacity": 50000,
    "slow_memory_bandwidth": 10,
    "native_granularity": [128, 128],
}


def example(name: str) -> Any:
    return json.loads((EXAMPLES / name).read_text())


def test_the_third_example_of_the_contest_takes_no_longer_than_its_arithmetic() -> None:
    found = schedule(ScheduleProblem.model_validate(EXAMPLE))
    assert (found.status, found.latency, found.subgraphs) == ("optimal", 4500.0, ((0, 1, 2),))


def test_a_bound_is_not_above_a_latency_whose_sum_rounds_another_way() -> None:
    matrices = {"widths": [12] * 3, "heights": [12] * 3, "inputs": [[0, 0], [0]], "outputs": [[1], [2]]}
    operations = {"base_costs": [26, 21], "op_types": ["MatMul", "Pointwise"], "native_granularity": [4, 4]}
    memories = {"fast_memory_capacity": 1000, "slow_memory_bandwidth": 5.0}
    found = schedule(ScheduleProblem.model_validate(matrices | operations | memories))
    assert found.status == "optimal"
    assert found.latency == found.lower_bound != 423.0


def test_copies_alignment_and_latency_of_a_target_have_their_price() -> None:
    problem = ScheduleProblem.model_validate(example("attention.json"))
    target = Target.model_validate(example("double_buffered.json"))
    plain, priced = schedule(problem), schedule(problem, target)
    assert plain.latency < priced.latency
    assert simulate(problem.graph, target, steps_of(priced)).violations == ()
    assert all(slot.offset % 64 == slot.size % 64 == 0 for slot in priced.slots)


def test_alternatives_and_rolls_are_in_the_answer_and_are_simulated_again() -> None:
    problem = ScheduleProblem.model_validate(example("attention_alternatives.json"))
    target = Target.model_validate(example("rolling.json"))
    plain, found = schedule(problem, target.model_copy(update={"rolls": False})), schedule(problem, target)
    assert found.latency < plain.latency
    assert found.alternatives == ((1, 0, 0), (1, 0, 0))
    assert found.tensors_to_roll == ((4,), (7,))
    assert simulate(problem.graph, target, steps_of(found)).latency == pytest.approx(found.latency)
    assert simulate(problem.graph, problem.target, steps_of(found)).violations
    assert "rolls 4, 0 by alternative 1" in " ".join(lines(found))
    assert not plain.model_dump().keys() & {"alternatives", "tensors_to_roll"}


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
        ({"alternatives": [[]]}, "alternatives: must be as many as op_types (3), got 1"),
        ({"alternatives": [[{"base_cost": 1}] * 16, [], []]}, "alternatives[0]: must be at most 15, got 16"),
    ],
)
def test_an_invalid_graph_is_refused_with_object_rule_and_value(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ProblemError) as refused:
        schedule(ScheduleProblem.model_validate(EXAMPLE | changes))
    assert sentence in refused.value.sentences


def test_a_schedule_that_came_from_elsewhere_is_simulated_again() -> None:
    problem = ScheduleProblem.model_validate(EXAMPLE)
    found, question = schedule(problem), {"problem": problem, "options": ScheduleOptions()}
    assert CAPABILITY.refutes is not None
    assert CAPABILITY.refutes(question, found) is None
    forged = found.model_copy(update={"latency": found.latency / 2})
    assert CAPABILITY.refutes(question, forged) == "latency: must be that of its steps"


def test_the_command_accepts_this_form_like_networks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schedule", str(EXAMPLES / "attention.json"), "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] in ("optimal", "feasible")


def test_places_that_came_from_elsewhere_are_verified() -> None:
    plain = ScheduleProblem.model_validate(example("attention.json"))
    again = json.loads(schedule(plain).model_dump_json())
    for slot in again["slots"]:
        slot.update({"offset": 0})
    question = {"problem": plain, "options": ScheduleOptions()}
    assert CAPABILITY.refutes is not None
    assert "share bytes" in (CAPABILITY.refutes(question, ScheduleAnswer.model_validate(again)) or "")
