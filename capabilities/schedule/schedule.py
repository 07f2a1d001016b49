"""The capability `schedule`: which operations run together, in which tiles, and what stays in the fast memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from memplan.capabilities.capability import Capability, Control, SearchOptions
from memplan.capabilities.cascade.regions.regions import CascadeRegion
from memplan.capabilities.question import Question
from memplan.capabilities.schedule.answer import Objective, ScheduleAnswer
from memplan.capabilities.schedule.inputs import PROBLEM, TARGET
from memplan.capabilities.schedule.model.contest import ScheduleProblem
from memplan.capabilities.schedule.model.network_run import NetworkStep, run_network
from memplan.capabilities.schedule.model.simulator import simulate
from memplan.capabilities.schedule.model.target import Target
from memplan.capabilities.schedule.search.homes import second_slots
from memplan.capabilities.schedule.search.network_search import NetworkRun
from memplan.capabilities.schedule.search.networks import bound_of, network_answer, network_of, schedule_network
from memplan.capabilities.schedule.search.pads import renumbered
from memplan.capabilities.schedule.search.placement import misplaced, slots_of
from memplan.capabilities.schedule.search.solve import schedule_tiles
from memplan.planner.errors import ProblemError, counted
from memplan.planner.model.rows import Bytes
from memplan.planner.operations.graph import OperationGraph

_SHOWN = 40
"""The most steps in the lines for people."""


class ScheduleOptions(SearchOptions):
    """Options of a schedule."""

    objective: Objective = Field(
        "latency", description="What is to be the least: time, bytes over the link, or bytes of the fast memory."
    )
    frontier: bool = Field(False, description="Show also schedules in less fast memory, each the best with its peak.")
    fast_memory: Bytes | None = Field(None, description="Bytes of the fast memory, instead of the target's.")


def schedule(
    problem: ScheduleProblem | OperationGraph,
    target: Target | None = None,
    options: ScheduleOptions = ScheduleOptions(),
    control: Control = Control(),
) -> ScheduleAnswer:
    """Schedule operations through a fast memory: which run together, in which tiles, and what stays for the next ones.

    The answer is simulated step by step, and every slice and tile has its place in the fast memory. The operations of a
    network run in tiles, or together in regions of a cascade.
    """
    running = control.begun(options)
    machine, goal = _machine(problem, target, options.fast_memory), options.objective
    if isinstance(problem, OperationGraph):
        return schedule_network(problem, machine, goal, running, wants_front=options.frontier)
    return schedule_tiles(problem.graph, machine, goal, running, wants_front=options.frontier)


def _machine(problem: ScheduleProblem | OperationGraph, target: Target | None, capacity: int | None) -> Target:
    if target is None:
        if isinstance(problem, OperationGraph):
            raise ProblemError(
                "target: is required, as a network says nothing about the machine: examples/schedules has some"
            )
        target = problem.target
    return target if capacity is None else target.with_capacity(capacity)


def lines(found: ScheduleAnswer) -> Iterator[str]:
    """Yield the steps for people."""
    gap = "unknown" if found.gap is None else f"{-(-found.gap * 10_000 // 1) / 100:.2f}%"
    sizes = f"latency {found.latency:,.1f}, traffic {found.traffic:,} bytes"
    yield f"{found.status}: {sizes}, {counted(len(found.subgraphs), 'step')}"
    yield f"lower bound of {found.objective} {found.lower_bound * 10 // 1 / 10:,.1f}, gap {gap}"
    if found.proof == "exhaustion":
        yield "no other schedule in tiles of powers of two is better"
    elif found.is_exhausted:
        yield "no other grouping of operations, each once, is better"
    yield f"fast memory: {found.peak:,} of {found.capacity:,} bytes, {len(found.slots):,} slots placed"
    rows = zip(found.subgraphs, found.granularities, found.tensors_to_retain, found.subgraph_latencies, strict=True)
    for k, (made, (width, height, depth), retained, latency) in enumerate(rows):
        if k == _SHOWN:
            yield f"and {len(found.subgraphs) - _SHOWN:,} other steps"
            break
        kept = f", retains {', '.join(map(str, retained))}" if retained else ""
        if found.tensors_to_roll and found.tensors_to_roll[k]:
            kept += f", rolls {', '.join(map(str, found.tensors_to_roll[k]))}"
        chosen = found.alternatives[k] if found.alternatives else ()
        kept += "".join(f", {o} by alternative {way}" for o, way in zip(made, chosen, strict=False) if way)
        sizes = f"{height} x {width} tiles, slices of {depth}"
        yield f"step {k}: operations {', '.join(map(str, made))} in {sizes}, {latency:,.1f}{kept}"
    for point in found.frontier:
        sizes = f"latency {point.latency:,.1f}, traffic {point.traffic:,} bytes, {counted(point.steps, 'step')}"
        yield f"in {point.peak:,} bytes of fast memory: {sizes}"


def _refuted(question: Question, found: ScheduleAnswer) -> str | None:
    """Return what is wrong with a schedule that came from elsewhere."""
    options: ScheduleOptions = question["options"]
    machine = _machine(question["problem"], question.get("target"), options.fast_memory)
    return schedule_refuted(question["problem"], machine, options.objective, found)


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


CAPABILITY = Capability(
    schedule,
    inputs=(PROBLEM, TARGET),
    lines=lines,
    exits={0: "there is a schedule"},
    refutes=_refuted,
    example={"problem": EXAMPLE},
)


def schedule_refuted(
    problem: ScheduleProblem | OperationGraph, machine: Target, objective: Objective, found: ScheduleAnswer
) -> str | None:
    """Return what is wrong with a schedule that came from elsewhere; None where nothing is."""
    if isinstance(problem, OperationGraph):
        return _network_refuted(problem, machine, objective, found)
    run = simulate(problem.graph, machine, found.steps)
    if run.violations:
        return run.violations[0]
    if abs(run.latency - found.latency) > 1e-6 * found.latency:
        return "latency: must be that of its steps"
    return misplaced(slots_of(run.figures), machine, found.slots)


def _network_refuted(
    problem: OperationGraph, machine: Target, objective: Objective, found: ScheduleAnswer
) -> str | None:
    """Return what is wrong with the steps of a network, their places, or what is said of them."""
    graph, outermost = network_of(problem), set(found.channels_outermost)
    number = {graph.origin(v): v for v in range(len(graph.operations))}
    try:
        rows = zip(found.regions, found.tensors_to_retain, strict=True)
        steps = [
            NetworkStep(_remade(k, renumbered(row, number.__getitem__)), kept, k in outermost)
            for k, (row, kept) in enumerate(rows)
        ]
        far = frozenset(item if item >= 0 else -1 - number[-1 - item] for item in found.far)
        figures, wrong = run_network(graph, steps, machine, far)
    except (ProblemError, ValueError, KeyError, TypeError, IndexError) as error:
        return f"regions: must be such as steps have, {error}"
    if wrong:
        return wrong[0]
    if (why := misplaced(slots_of(figures), machine, found.slots)) is not None:
        return why
    if machine.has_three and (why := misplaced(second_slots(graph, machine, figures), machine, found.second_slots, 1)):
        return why
    run, bound = NetworkRun(figures, steps, found.slots, far, found.second_slots), bound_of(graph, machine, objective)
    again = network_answer(graph, run, (), bound, machine, objective)
    # The figures of the points of a front are claims: they come without their steps.
    claimed = found.model_dump(mode="json", exclude={"frontier"})
    wrong = [name for name, value in again.model_dump(mode="json").items() if value != claimed.get(name, value)]
    return f"{wrong[0]}: must be what its steps say" if wrong else None


def _remade(number: int, row: CascadeRegion) -> CascadeRegion:
    """Return a region with what follows from its ranges; raises ProblemError where it has none."""
    if not row.ops or (row.kind != "whole" and not row.ranges):
        raise ProblemError(f"regions: must have operations and their ranges, got {row.id}")
    for buffer in row.buffers or ():
        if min(*buffer.capacity, buffer.bytes) < 0:
            raise ProblemError(
                f"regions: must have buffers of no less than 0 bytes, got that of tensor {buffer.tensor}"
            )
    return row if row.kind == "whole" else row.model_copy(update={"id": f"r{number}"}).remade(row.ranges)
