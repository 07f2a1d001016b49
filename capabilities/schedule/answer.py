"""The answer of the capability `schedule`: steps, their tiles, and what they leave in the fast memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from memplan.capabilities.capability import Answer
from memplan.capabilities.cascade.access.access_graph import AccessGraph, driven
from memplan.capabilities.cascade.regions.regions import CascadeRegion, Stripes
from memplan.capabilities.schedule.model.network_run import NetworkStep
from memplan.capabilities.schedule.model.schedule import Schedule, ScheduleStep
from memplan.capabilities.schedule.model.simulator import Simulation
from memplan.capabilities.schedule.model.target import Target
from memplan.capabilities.schedule.search.costs import Objective
from memplan.capabilities.schedule.search.downsets import EPSILON
from memplan.capabilities.schedule.search.network_search import NetworkSchedule
from memplan.capabilities.schedule.search.networks import FoundOnTarget
from memplan.capabilities.schedule.search.search import Proof
from memplan.capabilities.schedule.search.solve import SolvedSchedule
from memplan.planner.errors import ProblemError
from memplan.solvers.search.to_plan import gap_of


class ScheduleSlot(Answer):
    """A part of the fast memory, in the steps from `start` to before `end`: what it is for, of which tensor.

    `constants` and `workspace` of a network have the first tensor that their operation makes.
    """

    kind: Literal["input", "output", "accumulator", "retained", "roll", "workspace", "constants", "ring", "sums"]
    tensor: int
    size: int
    start: int
    end: int
    offset: int


class SchedulePoint(Answer):
    """A schedule of a frontier, simulated and placed within its peak, by its figures and the number of its steps."""

    peak: int
    latency: float
    traffic: int
    steps: int


class ScheduleAnswer(Answer):
    """A schedule: for each step its operations, the width, height and depth of tiles, and the tensors it retains.

    Times are those of the simulator; `link_busy` is the part of a step's time in which bytes move over the link.
    `proof` says why no schedule is better: its value is the lower `bound`, or all were looked at (`exhaustion`), in
    tiles of powers of two. Where it `is_exhausted`, no grouping of operations, each once, in such tiles, is better.
    Where there are any, `alternatives` say which way computes each operation of a step, 0 for its own one, and
    `tensors_to_roll` keep in a step what the next tile needs again. Of a network, `regions` has how each step runs: the
    ranges of each operation; `channels_outermost` are the steps that make all tiles of some channels before others.
    """

    status: Literal["optimal", "feasible"]
    objective: Objective
    latency: float
    traffic: int
    peak: int
    lower_bound: float
    gap: float | None
    proof: Proof | None
    is_exhausted: bool
    capacity: int
    subgraphs: tuple[tuple[int, ...], ...]
    granularities: tuple[tuple[int, int, int], ...]
    tensors_to_retain: tuple[tuple[int, ...], ...]
    traversal_orders: tuple[tuple[int, ...] | None, ...]
    subgraph_latencies: tuple[float, ...]
    subgraph_traffic: tuple[int, ...]
    link_busy: tuple[float, ...]
    slots: tuple[ScheduleSlot, ...]
    frontier: tuple[SchedulePoint, ...] = ()
    alternatives: tuple[tuple[int, ...], ...] = Field((), exclude_if=lambda rows: not rows)
    tensors_to_roll: tuple[tuple[int, ...], ...] = Field((), exclude_if=lambda rows: not rows)
    regions: tuple[CascadeRegion, ...] = Field((), exclude_if=lambda found: not found)
    channels_outermost: tuple[int, ...] = Field((), exclude_if=lambda steps: not steps)

    @property
    def schedule(self) -> Schedule:
        """The schedule of the rows."""
        kept = (rows or ((),) * len(self.subgraphs) for rows in (self.alternatives, self.tensors_to_roll))
        columns = self.subgraphs, self.granularities, self.traversal_orders, self.tensors_to_retain, *kept
        return Schedule(tuple(ScheduleStep(made, *tile, *row) for made, tile, *row in zip(*columns, strict=True)))


def answer_of(found: SolvedSchedule, target: Target, objective: Objective) -> ScheduleAnswer:
    """Return the answer that a schedule of tiles is."""
    figures, steps, bound = found.simulation, found.schedule.steps, found.found.lower_bound
    return ScheduleAnswer(
        **_figures(figures, target, objective, bound, found.found.proof),
        gap=gap_of([(float(getattr(figures, objective)), bound)]),
        is_exhausted=found.found.is_complete,
        subgraphs=tuple(step.operations for step in steps),
        granularities=tuple((step.width, step.height, step.depth) for step in steps),
        tensors_to_retain=tuple(step.retained for step in steps),
        traversal_orders=tuple(step.order for step in steps),
        **_per_step(figures.steps, target),
        slots=tuple(ScheduleSlot.of(slot) for slot in found.slots),
        alternatives=_rows([step.alternatives for step in steps]),
        tensors_to_roll=_rows([step.rolls for step in steps]),
        frontier=tuple(SchedulePoint.of(one.simulation, steps=len(one.simulation.steps)) for one in found.front),
    )


def _rows(rows: list[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """Return the rows of all steps; none where all are empty."""
    return tuple(rows) if any(rows) else ()


def answer_of_network(found: FoundOnTarget, target: Target, objective: Objective) -> ScheduleAnswer:
    """Return the answer that a schedule of a network is."""
    best, value = found.best, float(getattr(found.best, objective))
    graph, regions = found.graph, [step.region for step in best.steps]
    is_least = value <= found.lower_bound * (1 + EPSILON)
    return ScheduleAnswer(
        **_figures(best, target, objective, found.lower_bound, "bound" if is_least else None),
        gap=gap_of([(value, value if is_least else found.lower_bound)]),
        is_exhausted=False,
        subgraphs=tuple(tuple(range(region.first, region.end)) for region in regions),
        granularities=tuple(_stripe_of(graph, region) for region in regions),
        tensors_to_retain=tuple(step.retained for step in best.steps),
        traversal_orders=(None,) * len(best.steps),
        channels_outermost=tuple(k for k, step in enumerate(best.steps) if step.channels_outermost),
        **_per_step(best.figures, target),
        slots=tuple(ScheduleSlot.of(slot) for slot in best.slots),
        frontier=tuple(SchedulePoint.of(one, steps=len(one.steps)) for one in found.front),
        regions=tuple(region.model_copy(update={"id": f"r{number}"}) for number, region in enumerate(regions)),
    )


def network_steps(found: ScheduleAnswer) -> list[NetworkStep]:
    """Return the steps of a network that an answer says."""
    rows, outermost = zip(found.regions, found.tensors_to_retain, strict=True), set(found.channels_outermost)
    return [NetworkStep(_remade(k, row), kept, k in outermost) for k, (row, kept) in enumerate(rows)]


def _remade(number: int, row: CascadeRegion) -> CascadeRegion:
    """Return a region that came from elsewhere with what follows from its ranges; raises ProblemError for none."""
    if not row.ops or (row.kind != "whole" and not row.ranges):
        raise ProblemError(f"regions: must have operations and their ranges, got {row.id}")
    for buffer in row.buffers or ():
        if min(*buffer.capacity, buffer.bytes) < 1:
            raise ProblemError(f"regions: must have buffers of some bytes, got that of tensor {buffer.tensor}")
    if row.kind == "whole":
        return row
    return row.model_copy(update={"id": f"r{number}"}).remade(row.ranges)


def _per_step(steps: Sequence[Any], target: Target) -> dict[str, Any]:
    """Return the time of each step, its bytes over the link, and the part of the time in which these move."""
    moving = [step.traffic / target.link.bandwidth for step in steps]
    return {
        "subgraph_latencies": tuple(step.latency for step in steps),
        "subgraph_traffic": tuple(step.traffic for step in steps),
        "link_busy": tuple(
            round(min(1.0, time / step.latency), 6) if step.latency else 0.0
            for time, step in zip(moving, steps, strict=True)
        ),
    }


def _figures(
    run: Simulation | NetworkSchedule, target: Target, objective: Objective, bound: float, proof: Proof | None
) -> dict[str, Any]:
    """Return what answers have of each schedule that was run."""
    return {
        "status": "optimal" if proof else "feasible",
        "objective": objective,
        "latency": run.latency,
        "traffic": run.traffic,
        "peak": run.peak,
        "lower_bound": bound,
        "proof": proof,
        "capacity": target.capacity,
    }


def _stripe_of(graph: AccessGraph, region: CascadeRegion) -> tuple[int, int, int]:
    """Return the most columns, rows and channels of a step of a region's last operation; of a sum, those it reads."""
    last = region.end - 1
    if not graph.operations[last].outputs:
        return 1, 1, 1
    tensor, made = driven(graph, last), region.ranges.get(last, Stripes(rows=(), columns=()))
    axes = (made.columns, tensor.columns), (made.rows, tensor.rows), (made.channels, max(1, tensor.channels))
    columns, rows, channels = (max((b - a for a, b in spans), default=size) for spans, size in axes)
    return columns, rows, channels
