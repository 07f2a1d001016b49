"""The answer of `schedule`: steps, their tiles, and the tensors that stay in the fast memory after each step."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from memplan.extensions.cascade.regions.regions import CascadeRegion
from memplan.extensions.cascade.timing.figures import Run
from memplan.extensions.cascade.timing.target import Target
from memplan.questions.question import Answer, AnswerOfFile
from memplan.solvers.search.to_plan import gap_of

EPSILON = 1e-6
"""The relative difference up to which values count as equal; it is far below the time of transferring one byte."""
Objective = Literal["latency", "traffic", "peak"]
Proof = Literal["bound"]
SlotKind = Literal["input", "output", "retained", "workspace", "constants", "ring", "sums", "tensor", "staged"]


class ScheduleSlot(Answer):
    """A range of the fast memory in the steps `start` (inclusive) to `end`: its purpose and its tensor.

    For a network, slots of `constants` and `workspace` have the first output of their operation as tensor. Slots of the
    second of three memories have tensors, constants, or pieces that are `staged` during their transfer.
    """

    kind: SlotKind
    tensor: int
    size: int
    start: int
    end: int
    offset: int


class ScheduleTransfer(Answer):
    """The transfers of a tensor between two memories in a step: their bytes, and their number."""

    step: int
    kind: Literal["input", "output", "constants"]
    tensor: int
    source: str
    target: str
    bytes: int
    count: int


class SchedulePoint(Answer):
    """A schedule on a frontier, simulated and placed within its peak: its figures and its number of steps."""

    peak: int
    latency: float
    traffic: int
    steps: int


class ScheduleAnswer(AnswerOfFile):
    """A schedule: for each step its operations, the tile's width, height and depth, and the retained tensors.

    Times are computed by the simulator; `link_busy` is the fraction of a step's time in which the link transfers bytes.
    A schedule is `optimal` if its value equals the lower bound; `proof` is then `bound`. `alternatives` has, if
    operations have any, the chosen alternative of each operation of a step, 0 for the operation itself. For a network,
    `regions` has the ranges of each operation in each step, `channels_outermost` lists the steps whose outermost loop
    is over channels, and `transfers` has the transfers between memories. For three memories, `far` has the tensors in
    the last one, and -1 - v for the constants of operation v; `second_slots` has the slots of the second one.
    """

    status: Literal["optimal", "feasible"]
    objective: Objective
    latency: float
    traffic: int
    peak: int
    lower_bound: float
    gap: float | None
    proof: Proof | None
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
    regions: tuple[CascadeRegion, ...] = Field((), exclude_if=lambda found: not found)
    channels_outermost: tuple[int, ...] = Field((), exclude_if=lambda steps: not steps)
    transfers: tuple[ScheduleTransfer, ...] = Field((), exclude_if=lambda rows: not rows)
    second_slots: tuple[ScheduleSlot, ...] = Field((), exclude_if=lambda rows: not rows)
    far: tuple[int, ...] = Field((), exclude_if=lambda items: not items)

    @classmethod
    def from_run(
        cls, run: Run, target: Target, objective: Objective, bound: float, proof: Proof | None, **others: Any
    ) -> ScheduleAnswer:
        """Return the answer for simulated steps, with the figures of these steps and the lower bound."""
        value, times = float(getattr(run, objective)), list[float]()
        for step in run.figures:
            busy = step.first_link_bytes / target.link.bandwidth / step.latency if step.latency else 0.0
            times.append(round(min(1.0, busy), 6))
        if 0 < bound - value <= EPSILON * bound:  # Reordered sums may differ by rounding, so ignore tiny gaps.
            bound = value
        return cls(
            status="optimal" if proof == "bound" else "feasible",
            objective=objective,
            latency=run.latency,
            traffic=run.traffic,
            peak=run.peak,
            lower_bound=bound,
            gap=gap_of([(value, bound)]),
            proof=proof,
            capacity=target.capacity,
            subgraph_latencies=tuple(step.latency for step in run.figures),
            subgraph_traffic=tuple(step.traffic for step in run.figures),
            link_busy=tuple(times),
            **others,
        )


def point_of(run: Run) -> SchedulePoint:
    """Return the peak, time and traffic of a run, and its number of steps, as a point of a frontier."""
    return SchedulePoint.from_fields(run, steps=len(run.figures))
