"""`memplan schedule`: refusals in sentences, targets of the caller's own, and answers for people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memplan import OperationGraph, ScheduleProblem, Target, schedule
from memplan.api.cli.main import main
from memplan.capabilities.schedule.answer import ScheduleAnswer
from memplan.capabilities.schedule.model.simulator import simulate
from memplan.capabilities.schedule.schedule import CAPABILITY, EXAMPLE, ScheduleOptions, lines
from memplan.planner.errors import ProblemError
from tests.support.networks import two_convolutions

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "schedules"


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
    assert simulate(problem.graph, target, priced.steps).violations == ()
    assert all(slot.offset % 64 == slot.size % 64 == 0 for slot in priced.slots)


def test_alternatives_and_rolls_are_in_the_answer_and_are_simulated_again() -> None:
    problem = ScheduleProblem.model_validate(example("attention_alternatives.json"))
    target = Target.model_validate(example("rolling.json"))
    plain, found = schedule(problem, target.model_copy(update={"rolls": False})), schedule(problem, target)
    assert found.latency < plain.latency
    assert found.alternatives == ((1, 0, 0), (1, 0, 0))
    assert found.tensors_to_roll == ((4,), (7,))
    assert simulate(problem.graph, target, found.steps).latency == pytest.approx(found.latency)
    assert simulate(problem.graph, problem.target, found.steps).violations
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
def test_what_is_no_graph_is_refused_with_object_rule_and_value(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ProblemError) as refused:
        schedule(ScheduleProblem.model_validate(EXAMPLE | changes))
    assert sentence in refused.value.sentences


def test_a_target_has_a_fast_memory_a_slow_one_and_a_link() -> None:
    fields = {**example("double_buffered.json"), "memories": [{"name": "fast"}, {"name": "slow"}], "links": []}
    with pytest.raises(ProblemError) as refused:
        Target.model_validate(fields)
    assert refused.value.sentences == (
        "memories[0].capacity: is required, but for the last memory",
        "links: must be one between neighbouring memories, 1, got 0",
    )


def test_buffers_are_no_operations() -> None:
    with pytest.raises(ProblemError, match="got buffers, which say no operations and which `plan` takes"):
        CAPABILITY.inputs[0].from_json({"buffers": [{"id": 1, "size": 4, "start": 0, "end": 2}]})


def on_a_target() -> ScheduleAnswer:
    target = Target.model_validate(example("ethos_u55_like.json"))
    return schedule(two_convolutions(), target, ScheduleOptions(frontier=True, fast_memory=8192))


def test_a_network_runs_in_tiles_and_regions_with_a_place_for_all_that_is_in_the_fast_memory() -> None:
    found = on_a_target()
    assert found.peak <= found.capacity == 8192
    assert found.lower_bound <= found.latency == pytest.approx(sum(found.subgraph_latencies))
    assert [o for row in found.subgraphs for o in row] == [0, 1]
    assert {slot.kind for slot in found.slots} >= {"input", "output", "constants"}
    assert all(slot.offset % 16 == slot.size % 16 == 0 for slot in found.slots)
    assert [point.peak for point in found.frontier] == sorted((point.peak for point in found.frontier), reverse=True)
    assert min(point.latency for point in found.frontier) == found.latency
    assert next(lines(found)).startswith(f"{found.status}: latency {found.latency:,.1f}")
    assert on_a_target() == found


def test_a_network_moves_no_more_than_it_must_where_all_tensors_fit() -> None:
    target = Target.model_validate(example("gap8_like.json"))
    found = schedule(two_convolutions(), target, ScheduleOptions(objective="traffic"))
    assert (found.status, found.proof, found.gap) == ("optimal", "bound", 0)
    assert found.traffic == 26 * 26 * 3 + 3 * 3 * 3 * 32 + 32 * 8 + 24 * 24 * 8


FORGED = [
    ({"latency": 1.0}, "latency: must be what its steps say"),
    ({"lower_bound": 10**9}, "lower_bound: must be what its steps say"),
    ({"subgraphs": [[0], [1], [1]]}, "subgraphs: must be what its steps say"),
    ({"regions": []}, "regions: must be such as steps have, zip() argument 2 is longer than argument 1"),
    ({"tensors_to_retain": [[99]]}, "subgraphs[0]: must not retain tensor 99, which is not there"),
]


@pytest.mark.parametrize(("change", "sentence"), FORGED)
def test_a_schedule_of_a_network_that_came_from_elsewhere_is_run_again(change: dict[str, Any], sentence: str) -> None:
    options = ScheduleOptions(fast_memory=8192)
    target = Target.model_validate(example("ethos_u55_like.json"))
    question = {"problem": two_convolutions(), "target": target, "options": options}
    answer = json.loads(on_a_target().model_dump_json())
    assert CAPABILITY.refutes(question, ScheduleAnswer.model_validate(answer)) is None
    assert CAPABILITY.refutes(question, ScheduleAnswer.model_validate(answer | change)) == sentence


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"offset": 0}, "slots: buffers 0 and 1 share bytes [0, 192) of "),
        ({"offset": 8}, "slots: buffer 0: must have an address that its alignment divides"),
        ({"offset": -16}, "slots: buffer 0: must not start below its pool"),
        ({"size": 16}, "slots: must be those that the steps need"),
    ],
)
def test_the_places_of_a_schedule_that_came_from_elsewhere_are_verified(change: dict[str, int], sentence: str) -> None:
    answer = json.loads(on_a_target().model_dump_json())
    for slot in answer["slots"]:
        slot.update(change)
    question = {"problem": two_convolutions(), "target": Target.model_validate(example("ethos_u55_like.json"))}
    question["options"] = ScheduleOptions(fast_memory=8192)
    assert (CAPABILITY.refutes(question, ScheduleAnswer.model_validate(answer)) or "").startswith(sentence)
    plain = ScheduleProblem.model_validate(example("attention.json"))
    again = json.loads(schedule(plain).model_dump_json())
    for slot in again["slots"]:
        slot.update({"offset": 0})
    question = {"problem": plain, "options": ScheduleOptions()}
    assert "share bytes" in (CAPABILITY.refutes(question, ScheduleAnswer.model_validate(again)) or "")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (None, "target: is required, as a network says nothing about the machine: examples/schedules has some"),
        (
            "double_buffered.json",
            "target.engine.rate: is required, as operations of a network have multiplications, no times",
        ),
    ],
)
def test_a_network_needs_a_target_with_a_rate(name: str | None, sentence: str) -> None:
    target = None if name is None else Target.model_validate(example(name))
    with pytest.raises(ProblemError) as refused:
        schedule(two_convolutions(), target)
    assert refused.value.sentences == (sentence,)


def test_a_model_and_a_body_of_json_are_networks_too(tmp_path: Path) -> None:
    machine = example("gap8_like.json")
    network = ROOT / "tests" / "models" / "recorded" / "kws_dscnn_int8.tflite"
    arguments = ["schedule", str(network), "--target", str(EXAMPLES / "gap8_like.json")]
    assert main([*arguments, "--time-limit", "1", "-o", str(tmp_path / "answer.json"), "--quiet"]) == 0
    from_file = json.loads((tmp_path / "answer.json").read_text())
    assert from_file["regions"]
    problem = CAPABILITY.inputs[0].from_json(CAPABILITY.inputs[0].to_json(two_convolutions()))
    assert isinstance(problem, OperationGraph)
    assert schedule(problem, Target.model_validate(machine)).latency > 0
