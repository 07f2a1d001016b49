"""The question `schedule`: refusals, targets of callers, schedules from other programs, and printed lines."""

import json
from pathlib import Path
from typing import Any

import pytest

from memplan import OperationGraph, Target, schedule
from memplan.extensions.schedule.answer import ScheduleAnswer
from memplan.extensions.schedule.schedule import QUESTION, ScheduleOptions, lines
from memplan.planner.errors import ProblemError
from tests.support.networks import two_convolutions

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "schedules"


def example(name: str) -> Any:
    return json.loads((EXAMPLES / name).read_text())


def test_a_target_requires_a_fast_memory_a_slow_one_and_a_link() -> None:
    fields = {**example("double_buffered.json"), "memories": [{"name": "fast"}, {"name": "slow"}], "links": []}
    with pytest.raises(ProblemError) as refused:
        Target.model_validate(fields)
    assert refused.value.sentences == (
        "memories[0].capacity: is required for all but the last memory",
        "links: must be one link for each two neighbouring memories (1), got 0",
    )


def schedule_example() -> ScheduleAnswer:
    target = Target.model_validate(example("ethos_u55_like.json"))
    return schedule(two_convolutions(), target, ScheduleOptions(frontier=True, fast_memory=8192))


def test_a_network_runs_in_tiles_and_regions_with_offsets_for_all_tensors_in_the_fast_memory() -> None:
    found = schedule_example()
    assert found.peak <= found.capacity == 8192
    assert found.lower_bound <= found.latency == pytest.approx(sum(found.subgraph_latencies))
    assert [o for row in found.subgraphs for o in row] == [0, 1]
    assert {slot.kind for slot in found.slots} >= {"input", "output", "constants"}
    assert all(slot.offset % 16 == slot.size % 16 == 0 for slot in found.slots)
    assert [point.peak for point in found.frontier] == sorted((point.peak for point in found.frontier), reverse=True)
    assert min(point.latency for point in found.frontier) == found.latency
    assert next(lines(found)).startswith(f"{found.status}: latency {found.latency:,.1f}")
    assert schedule_example() == found


def test_a_network_whose_tensors_all_fit_transfers_each_input_weight_and_output_once() -> None:
    target = Target.model_validate(example("gap8_like.json"))
    found = schedule(two_convolutions(), target, ScheduleOptions(objective="traffic"))
    assert (found.status, found.proof, found.gap) == ("optimal", "bound", 0)
    assert found.traffic == 26 * 26 * 3 + 3 * 3 * 3 * 32 + 32 * 8 + 24 * 24 * 8


FORGED = [
    ({"latency": 1.0}, "latency: must equal the value recomputed from its steps"),
    ({"lower_bound": 10**9}, "lower_bound: must equal the value recomputed from its steps"),
    ({"subgraphs": [[0], [1], [1]]}, "subgraphs: must equal the value recomputed from its steps"),
    ({"regions": []}, "regions: must be valid regions of steps, zip() argument 2 is longer than argument 1"),
    ({"tensors_to_retain": [[99]]}, "subgraphs[0]: must not retain tensor 99, which is not in the fast memory"),
]


@pytest.mark.parametrize(("change", "sentence"), FORGED)
def test_a_schedule_from_another_program_is_simulated_again_and_checked(change: dict[str, Any], sentence: str) -> None:
    options = ScheduleOptions(fast_memory=8192)
    target = Target.model_validate(example("ethos_u55_like.json"))
    values = {"problem": two_convolutions(), "target": target, "options": options}
    answer = json.loads(schedule_example().model_dump_json())
    assert QUESTION.refutes(values, ScheduleAnswer.model_validate(answer)) is None
    assert QUESTION.refutes(values, ScheduleAnswer.model_validate(answer | change)) == sentence


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"offset": 0}, "slots: buffers 0 and 1 share bytes [0, 192) of "),
        ({"offset": 8}, "slots: buffer 0: must have an address that its alignment divides"),
        ({"offset": -16}, "slots: buffer 0: must not start below its pool"),
        ({"size": 16}, "slots: must be exactly the slots that the steps need"),
    ],
)
def test_the_offsets_of_a_given_schedule_are_verified(change: dict[str, int], sentence: str) -> None:
    answer = json.loads(schedule_example().model_dump_json())
    for slot in answer["slots"]:
        slot.update(change)
    values = {"problem": two_convolutions(), "target": Target.model_validate(example("ethos_u55_like.json"))}
    values["options"] = ScheduleOptions(fast_memory=8192)
    assert (QUESTION.refutes(values, ScheduleAnswer.model_validate(answer)) or "").startswith(sentence)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (None,
         "target: is required, as a network does not describe the machine; `memplan examples` writes"
         " an example, examples/schedules/gap8_like.json"),
        ("double_buffered.json",
         "target.engine.rate: is required, as operations of a network have multiplications instead of times"),
    ],
)  # fmt: skip
def test_schedule_requires_a_target_with_a_rate_of_arithmetic_for_a_network(name: str | None, sentence: str) -> None:
    target = None if name is None else Target.model_validate(example(name))
    with pytest.raises(ProblemError) as refused:
        schedule(two_convolutions(), target)
    assert refused.value.sentences == (sentence,)


def test_schedule_accepts_a_graph_as_json() -> None:
    machine = example("gap8_like.json")
    problem = QUESTION.inputs[0].from_json(QUESTION.inputs[0].to_json(two_convolutions()))
    assert isinstance(problem, OperationGraph)
    assert schedule(problem, Target.model_validate(machine)).latency > 0
