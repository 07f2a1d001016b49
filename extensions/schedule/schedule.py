"""The question `schedule`: which operations run together, in which tiles, and which tensors stay in the fast memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from memplan.extensions.cascade.regions.regions import CascadeRegion
from memplan.extensions.cascade.timing.inputs import TARGET
from memplan.extensions.cascade.timing.network_run import NetworkStep, run_network
from memplan.extensions.cascade.timing.target import Target
from memplan.extensions.schedule.answer import Objective, ScheduleAnswer
from memplan.extensions.schedule.inputs import PROBLEM
from memplan.extensions.schedule.search.network_search import NetworkRun
from memplan.extensions.schedule.search.networks import bound_of, network_answer, network_of, schedule_network
from memplan.extensions.schedule.search.pads import renumber
from memplan.extensions.schedule.search.placement import second_slots, slot_violation, slots_of
from memplan.planner.errors import ProblemError, count_text
from memplan.planner.model.rows import Bytes
from memplan.programs.operations.graph import OperationGraph
from memplan.questions.inputs.values import InputValues
from memplan.questions.question import Control, Question, SearchOptions

_SHOWN = 40
"""The maximum number of steps that are listed in the printed lines."""


class ScheduleOptions(SearchOptions):
    """Options of the question `schedule`."""

    objective: Objective = Field(
        "latency",
        description="Minimise the time (latency), the bytes over the link (traffic), or the bytes of the fast "
        "memory (peak).",
    )
    frontier: bool = Field(
        False,
        description="Also show schedules that need less fast memory, each one the best that was found for its peak.",
    )
    fast_memory: Bytes | None = Field(None, description="The size of the fast memory; overrides the target's size.")


def schedule(
    problem: OperationGraph,
    target: Target | None = None,
    options: ScheduleOptions = ScheduleOptions(),
    control: Control = Control(),
) -> ScheduleAnswer:
    """Schedule operations through a fast memory: choose which run together, in which tiles, and what stays in it.

    The schedule is simulated step by step, and every slice and tile has a placement in the fast memory. The operations
    of a network run in tiles, or together in the regions of a cascade.
    """
    machine = _target_with_capacity(target, options.fast_memory)
    return schedule_network(problem, machine, options.objective, control.begin(options), wants_front=options.frontier)


def _target_with_capacity(target: Target | None, capacity: int | None) -> Target:
    """Return the target, with another size of the fast memory if given; raises ProblemError without a target."""
    if target is None:
        raise ProblemError(
            "target: is required, as a network does not describe the machine; `memplan examples` writes"
            " an example, examples/schedules/gap8_like.json"
        )
    return target if capacity is None else target.with_capacity(capacity)


def lines(found: ScheduleAnswer) -> Iterator[str]:
    """Yield the printed lines of an answer: its figures, then a line for each step."""
    gap = "unknown" if found.gap is None else f"{-(-found.gap * 10_000 // 1) / 100:.2f}%"
    sizes = f"latency {found.latency:,.1f}, traffic {found.traffic:,} bytes"
    yield f"{found.status}: {sizes}, {count_text(len(found.subgraphs), 'step')}"
    yield f"lower bound of {found.objective} {found.lower_bound * 10 // 1 / 10:,.1f}, gap {gap}"
    yield f"fast memory: {found.peak:,} of {found.capacity:,} bytes, {len(found.slots):,} slots placed"
    rows = zip(found.subgraphs, found.granularities, found.tensors_to_retain, found.subgraph_latencies, strict=True)
    for k, (made, (width, height, depth), retained, latency) in enumerate(rows):
        if k == _SHOWN:
            yield f"and {len(found.subgraphs) - _SHOWN:,} other steps"
            break
        text = f", retains {', '.join(map(str, retained))}" if retained else ""
        chosen = found.alternatives[k] if found.alternatives else ()
        text += "".join(f", {o} by alternative {way}" for o, way in zip(made, chosen, strict=False) if way)
        sizes = f"{height} x {width} tiles, slices of {depth}"
        yield f"step {k}: operations {', '.join(map(str, made))} in {sizes}, {latency:,.1f}{text}"
    for point in found.frontier:
        sizes = f"latency {point.latency:,.1f}, traffic {point.traffic:,} bytes, {count_text(point.steps, 'step')}"
        yield f"in {point.peak:,} bytes of fast memory: {sizes}"


def _refutation(values: InputValues, found: ScheduleAnswer) -> str | None:
    """Return why a schedule from another program is wrong, or None if it is correct."""
    options: ScheduleOptions = values["options"]
    machine = _target_with_capacity(values.get("target"), options.fast_memory)
    return schedule_refuted(values["problem"], machine, options.objective, found)


def schedule_refuted(
    problem: OperationGraph, machine: Target, objective: Objective, found: ScheduleAnswer
) -> str | None:
    """Return the first error in the steps, offsets or claims of another program's schedule; None if it has none."""
    graph, outermost = network_of(problem), set(found.channels_outermost)
    number = {graph.origin(v): v for v in range(len(graph.operations))}
    try:
        rows = zip(found.regions, found.tensors_to_retain, strict=True)
        steps = [
            NetworkStep(_remake_region(k, renumber(row, number.__getitem__)), stays, k in outermost)
            for k, (row, stays) in enumerate(rows)
        ]
        far = frozenset(item if item >= 0 else -1 - number[-1 - item] for item in found.far)
        figures, wrong = run_network(graph, steps, machine, far)
    except (ProblemError, ValueError, KeyError, TypeError, IndexError) as error:
        return f"regions: must be valid regions of steps, {error}"
    if wrong:
        return wrong[0]
    if (why := slot_violation(slots_of(figures), machine, found.slots)) is not None:
        return why
    if machine.has_three and (
        why := slot_violation(second_slots(graph, machine, figures), machine, found.second_slots, 1)
    ):
        return why
    run, bound = NetworkRun(figures, steps, found.slots, far, found.second_slots), bound_of(graph, machine, objective)
    again = network_answer(graph, run, (), bound, machine, objective)
    # The answer has no steps for the points on its front, so compare all fields except the front.
    claimed = found.model_dump(mode="json", exclude={"frontier"})
    wrong = [name for name, value in again.model_dump(mode="json").items() if value != claimed.get(name, value)]
    return f"{wrong[0]}: must equal the value recomputed from its steps" if wrong else None


def _remake_region(number: int, row: CascadeRegion) -> CascadeRegion:
    """Return a region with its derived fields recomputed from its ranges; raises ProblemError if this is impossible."""
    if not row.ops or (row.kind != "whole" and not row.ranges):
        raise ProblemError(f"regions: must have operations and their ranges, got none in {row.id}")
    for buffer in row.buffers or ():
        if min(*buffer.capacity, buffer.bytes) < 0:
            raise ProblemError(f"regions: must have buffers of at least 0 bytes, got less for tensor {buffer.tensor}")
    return row if row.kind == "whole" else row.model_copy(update={"id": f"r{number}"}).remake(row.ranges)


def _example_body() -> dict[str, Any]:
    image, scores = {"shape": [1, 26, 26, 3], "dtype": "int8"}, {"shape": [1, 24, 24, 8], "dtype": "int8"}
    convolution = {"in": [0], "out": [1], "kind": "conv2d", "attributes": {"kernel": [3, 3]}}
    graph = {"size": [2028, 4608], "kept": [1], "tensors": [image, scores], "ops": [convolution]}
    memories = [{"name": "fast", "capacity": 8192, "alignment": 16}, {"name": "slow"}]
    return {
        "problem": graph,
        "target": {"memories": memories, "links": [{"bandwidth": 16}], "engine": {"native": [16, 16], "rate": 256}},
    }


QUESTION = Question(
    schedule,
    inputs=(PROBLEM, TARGET),
    lines=lines,
    exits={0: "there is a schedule"},
    refutes=_refutation,
    example=_example_body(),
)
