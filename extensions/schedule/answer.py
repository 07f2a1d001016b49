"""The answer of `schedule`: steps, their tiles, and the tensors that stay in the fast memory after each step."""

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
    """A range of a memory that some steps use."""

    kind: SlotKind
    """What the slot holds: in the fast memory, a piece of an `input` or `output`, a tensor `retained` for later steps,
    `constants`, `workspace`, a tensor inside a region (`ring`), or accumulated `sums`; in the second of three memories,
    a whole `tensor`, `constants`, or pieces that are `staged` during their transfer."""
    tensor: int
    """The tensor; for `constants` and `workspace`, the first output of their operation."""
    size: int
    """The size in bytes, rounded up to the alignment of the memory."""
    start: int
    """The first step that uses the slot."""
    end: int
    """The step after the last one that uses it."""
    offset: int
    """The bytes from the start of the memory to the start of the slot."""


class ScheduleTransfer(Answer):
    """The transfers of a tensor between two memories in a step."""

    step: int
    """The number of the step."""
    kind: Literal["input", "output", "constants"]
    """The kind of data that is moved: an input, an output or constants of the step."""
    tensor: int
    """The tensor; for constants, the first output of their operation."""
    source: str
    """The name of the memory that is read."""
    target: str
    """The name of the memory that is written."""
    bytes: int
    """The bytes of all these transfers together."""
    count: int
    """The number of transfers."""


class SchedulePoint(Answer):
    """A schedule on a frontier, simulated and placed within its peak."""

    peak: int
    """The bytes of the fast memory that it needs."""
    latency: float
    """Its time, in the target's unit of time."""
    traffic: int
    """The bytes that it moves over all links."""
    steps: int
    """The number of its steps."""


class ScheduleAnswer(AnswerOfFile):
    """A schedule, whose times are computed by the simulator."""

    status: Literal["optimal", "feasible"]
    """`optimal` if the schedule's value equals the lower bound."""
    objective: Objective
    """The figure that is minimised."""
    latency: float
    """The time of all steps, in the target's unit of time."""
    traffic: int
    """The bytes that all steps move over all links."""
    peak: int
    """The most bytes that a step needs in the fast memory."""
    lower_bound: float
    """The lower bound on the objective, in its unit; 0 for the peak, which has none."""
    gap: float | None
    """The distance of the schedule's value from the bound, relative to the bound, such as 0.02; null if unknown."""
    proof: Proof | None
    """`bound` if the schedule meets the lower bound; else null."""
    capacity: int
    """The size of the fast memory in bytes."""
    subgraphs: tuple[tuple[int, ...], ...]
    """The operations of each step."""
    granularities: tuple[tuple[int, int, int], ...]
    """The width, height and depth of each step's tiles, in columns, rows and channels."""
    tensors_to_retain: tuple[tuple[int, ...], ...]
    """The tensors that each step keeps in the fast memory without writing them to the slow one."""
    traversal_orders: tuple[tuple[int, ...] | None, ...]
    """Null for each step, because tiles are processed row by row."""
    subgraph_latencies: tuple[float, ...]
    """The time of each step, in the target's unit of time."""
    subgraph_traffic: tuple[int, ...]
    """The bytes that each step moves over all links."""
    link_busy: tuple[float, ...]
    """The fraction of each step's time in which the link of the fast memory transfers bytes, from 0 to 1."""
    slots: tuple[ScheduleSlot, ...]
    """The slots in the fast memory."""
    frontier: tuple[SchedulePoint, ...] = ()
    """Schedules by falling peak, each better than any other in peak, time or traffic; empty without the option
    `frontier`."""
    alternatives: tuple[tuple[int, ...], ...] = Field((), exclude_if=lambda rows: not rows)
    """The chosen alternative of each operation of a step, 0 for the operation itself; omitted if no operation has
    any."""
    regions: tuple[CascadeRegion, ...] = Field((), exclude_if=lambda found: not found)
    """The ranges of each operation in each step."""
    channels_outermost: tuple[int, ...] = Field((), exclude_if=lambda steps: not steps)
    """The steps whose outermost loop is over channels."""
    transfers: tuple[ScheduleTransfer, ...] = Field((), exclude_if=lambda rows: not rows)
    """The transfers between memories, step by step."""
    second_slots: tuple[ScheduleSlot, ...] = Field((), exclude_if=lambda rows: not rows)
    """The slots in the second of three memories."""
    far: tuple[int, ...] = Field((), exclude_if=lambda items: not items)
    """The tensors in the last of three memories, and -1 - v for the constants of operation v."""

    @classmethod
    def from_run(
        cls, run: Run, target: Target, objective: Objective, bound: float, proof: Proof | None, **others: Any
    ) -> "ScheduleAnswer":
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
