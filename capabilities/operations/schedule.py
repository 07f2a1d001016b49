"""The capability `schedule`: which operations run together, in which tiles, and what stays in the fast memory."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field

from memplan.capabilities.capability import Answer, Capability, Control, SearchOptions
from memplan.capabilities.inputs import object_in
from memplan.capabilities.question import Input, Question, Subject
from memplan.planner.errors import ProblemError
from memplan.planner.formats import memplan_json
from memplan.planner.model.rows import Bytes
from memplan.planner.schedules.contest import ScheduleProblem
from memplan.planner.schedules.schedule import Schedule, ScheduleStep
from memplan.planner.schedules.simulator import simulate
from memplan.planner.schedules.target import Target
from memplan.solvers.schedules.costs import Objective
from memplan.solvers.schedules.effort import ScheduleEffort
from memplan.solvers.schedules.search import Proof
from memplan.solvers.schedules.solve import ScheduleTask, SolvedSchedule, solve_schedule
from memplan.solvers.search.to_plan import gap_of

M = TypeVar("M", bound=BaseModel)
_SEARCH = 0.75
"""The part of the time that the search has; the rest is for the simulator, which takes 3 s for large tensors."""
_SHOWN = 40
"""The most steps in the lines for people."""


class ScheduleOptions(SearchOptions):
    """Options of a schedule."""

    objective: Objective = Field(
        "latency", description="What is to be the least: time, bytes over the link, or bytes of the fast memory."
    )
    frontier: bool = Field(False, description="Show also schedules in less fast memory, each the best with its peak.")
    fast_memory: Bytes | None = Field(None, description="Bytes of the fast memory, instead of the target's.")


class ScheduleSlot(Answer):
    """A part of the fast memory, in the steps from `start` to before `end`: what it is for, of which tensor."""

    kind: Literal["input", "output", "accumulator", "retained"]
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

    Times are those of the simulator. `proof` says why no schedule is better: its value is the lower `bound`, or all
    were looked at (`exhaustion`), in tiles of powers of two. Where it `is_exhausted`, no grouping of operations, each
    once, in such tiles, is better.
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
    slots: tuple[ScheduleSlot, ...]
    frontier: tuple[SchedulePoint, ...] = ()

    @property
    def schedule(self) -> Schedule:
        """The schedule of the rows."""
        rows = zip(self.subgraphs, self.granularities, self.traversal_orders, self.tensors_to_retain, strict=True)
        return Schedule(tuple(ScheduleStep(made, *tile, order, retained) for made, tile, order, retained in rows))


def schedule(
    problem: ScheduleProblem,
    target: Target | None = None,
    options: ScheduleOptions = ScheduleOptions(),
    control: Control = Control(),
) -> ScheduleAnswer:
    """Schedule operations through a fast memory: which run together, in which tiles, and what stays for the next ones.

    The answer is simulated step by step, and every slice and tile has its place in the fast memory.
    """
    running = control.begun(options)
    machine = _machine(problem, target, options.fast_memory)
    search = running.within(_SEARCH * running.left_s)
    limit_s = search.left_s
    is_counted = running.counted_s is not None
    effort = ScheduleEffort(
        limit_s, None if is_counted else lambda: 1 - search.deadline.left_s / limit_s, running.cancelled.is_set
    )

    def report(value: float) -> None:
        running.report({options.objective: round(value, 3)})

    task = ScheduleTask(problem.graph, machine, options.objective, options.frontier)
    return _answer_of(
        solve_schedule(task, effort, report, is_counted, lambda: running.is_over), machine, options.objective
    )


def _machine(problem: ScheduleProblem, target: Target | None, capacity: int | None) -> Target:
    machine = problem.target if target is None else target
    return machine if capacity is None else machine.with_capacity(capacity)


def _answer_of(found: SolvedSchedule, target: Target, objective: Objective) -> ScheduleAnswer:
    figures, steps, bound = found.simulation, found.schedule.steps, found.found.lower_bound
    value, proof = float(getattr(figures, objective)), found.found.proof
    return ScheduleAnswer(
        status="optimal" if proof else "feasible",
        objective=objective,
        latency=figures.latency,
        traffic=figures.traffic,
        peak=figures.peak,
        lower_bound=bound,
        gap=gap_of([(value, bound)]),
        proof=proof,
        is_exhausted=found.found.is_complete,
        capacity=target.capacity,
        subgraphs=tuple(step.operations for step in steps),
        granularities=tuple((step.width, step.height, step.depth) for step in steps),
        tensors_to_retain=tuple(step.retained for step in steps),
        traversal_orders=tuple(step.order for step in steps),
        subgraph_latencies=tuple(step.latency for step in figures.steps),
        slots=tuple(ScheduleSlot.of(slot) for slot in found.slots),
        frontier=tuple(SchedulePoint.of(one.simulation, steps=len(one.simulation.steps)) for one in found.front),
    )


def lines(found: ScheduleAnswer) -> Iterator[str]:
    """Yield the steps for people."""
    gap = "unknown" if found.gap is None else f"{found.gap:.2%}"
    sizes = f"latency {found.latency:,.1f}, traffic {found.traffic:,} bytes"
    yield f"{found.status}: {sizes}, {len(found.subgraphs):,} steps"
    yield f"lower bound of {found.objective} {found.lower_bound:,.1f}, gap {gap}"
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
        sizes = f"{height} x {width} tiles, slices of {depth}"
        yield f"step {k}: operations {', '.join(map(str, made))} in {sizes}, {latency:,.1f}{kept}"
    for point in found.frontier:
        sizes = f"latency {point.latency:,.1f}, traffic {point.traffic:,} bytes, {point.steps:,} steps"
        yield f"in {point.peak:,} bytes of fast memory: {sizes}"


def _refuted(question: Question, found: ScheduleAnswer) -> str | None:
    """Return what is wrong with a schedule that came from elsewhere."""
    problem: ScheduleProblem = question["problem"]
    machine = _machine(problem, question.get("target"), question["options"].fast_memory)
    simulated = simulate(problem.graph, machine, found.schedule)
    if simulated.violations:
        return simulated.violations[0]
    return (
        None if abs(simulated.latency - found.latency) <= 1e-6 * found.latency else "latency: must be that of its steps"
    )


def _subject(problem: ScheduleProblem) -> Subject:
    return Subject(f"sha256:{sha256(problem.model_dump_json().encode()).hexdigest()}", None, len(problem.widths))


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


def _object_input(name: str, kind: type[M], help_text: str, **others: Any) -> Input[M]:
    """Return an input that is an object of JSON, in bodies and in files."""

    def read(value: object) -> M:
        return kind.model_validate(object_in(value, name, ProblemError))

    return Input(
        name,
        kind,
        read,
        lambda value: value.model_dump(mode="json"),
        help_text,
        from_file=lambda _reader, data, _name, _question: read(memplan_json.parse(data)),
        **others,
    )


PROBLEM = _object_input(
    "problem",
    ScheduleProblem,
    "A file: operations on tensors of two dimensions and their machine, as JSON, or - for standard input.",
    subject=_subject,
)
TARGET = _object_input(
    "target", Target, "A file: a machine, as JSON, instead of that of the problem.", required=False, named_by_flag=True
)
CAPABILITY = Capability(
    schedule,
    inputs=(PROBLEM, TARGET),
    lines=lines,
    exits={0: "there is a schedule"},
    refutes=_refuted,
    example={"problem": EXAMPLE},
)
