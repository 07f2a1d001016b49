"""The capability `recompute`: less memory for operations that run again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from memplan.capabilities.capability import Answer, Capability, Control
from memplan.capabilities.inputs import GRAPH, PlanAndProblem
from memplan.capabilities.order.graphs import GraphOptions
from memplan.capabilities.order.recompute.frontier import (
    MOST_POINTS,
    POINTS,
    RecomputeFrontier,
    RecomputePoint,
    recompute_frontier,
)
from memplan.capabilities.order.search.regions import RegionOrder
from memplan.capabilities.question import Question
from memplan.capabilities.texts import share_of
from memplan.planner.errors import shown
from memplan.planner.model.rows import Bytes
from memplan.planner.operations.graph import OperationGraph


def _part(value: object) -> object:
    """Return the part that a text such as 10% says; numbers as they are."""
    if not isinstance(value, str):
        return value
    part = share_of(value)
    if part is None:
        rule = f"must be a part such as 10%, got {shown(value)}"
        raise PydanticCustomError("rule", "{rule}", {"rule": rule})
    return part


Part = Annotated[float, BeforeValidator(_part), Field(ge=0, allow_inf_nan=False)]


class RecomputeOptions(GraphOptions):
    """Options of recompute; `budget` and `extra_cost` are not given together."""

    budget: Bytes | None = Field(None, description="The peak to come within, at the least cost.")
    extra_cost: Part | None = Field(None, description="The most that running again may cost, of all: 10% or 0.1.")
    points: Annotated[int, Field(ge=1, le=MOST_POINTS)] = Field(
        POINTS, description="Points to look for between the peak without clones and the lowest one."
    )
    with_plans: bool = Field(False, description="Answer with the problem and the plan of each point, too.")


class RecomputePointRow(Answer):
    """A program in which the operations in `clones` run more than once; `order` are operations as they run.

    `peak` is that of the plan, `live_peak` the bytes alive at once; `lower_bound` holds for these clones in any order.
    """

    peak: int
    live_peak: int
    lower_bound: int
    status: Literal["optimal", "feasible"]
    extra_cost: int
    clones: tuple[int, ...]
    order: tuple[int, ...]
    planned: PlanAndProblem | None = Field(None, exclude_if=lambda found: found is None)


class RecomputeAnswer(Answer):
    """Programs with falling peaks and rising costs; the last point is the answer. Sizes are in bytes.

    `cost` is that of running every operation once, `is_within` says if the last point is within the budget. `regions`
    are the orders inside operations that differ from the given ones.
    """

    name: str | None = None
    status: Literal["optimal", "feasible"]
    peak: int
    lower_bound: int
    extra_cost: int
    given_peak: int
    cost: int
    is_within: bool
    wall_time_s: float | None
    order: tuple[int, ...]
    points: tuple[RecomputePointRow, ...]
    regions: tuple[RegionOrder, ...] = Field((), exclude_if=lambda found: not found)
    graph: SkipJsonSchema[OperationGraph | None] = Field(None, exclude=True, repr=False)
    frontier: SkipJsonSchema[RecomputeFrontier | None] = Field(None, exclude=True, repr=False)


def recompute(
    graph: OperationGraph, options: RecomputeOptions = RecomputeOptions(), control: Control = Control()
) -> RecomputeAnswer:
    """Let operations run again where that lowers the peak: programs with falling peaks and rising costs, all planned.

    Without a budget and without a most extra cost, they go down to the lowest peak that is found.
    """
    running = control.begun(options)
    asked = options.variant(graph)
    found = recompute_frontier(
        asked,
        **options.fields("budget", "extra_cost", "points", "deterministic"),
        time_limit_s=running.left_s,
        cancelled=running.cancelled,
    )
    points = tuple(RecomputePointRow.of(point, planned=_planned(point, options)) for point in found.points)
    return RecomputeAnswer.of(points[-1], found, name=graph.name, points=points, graph=asked, frontier=found)


def _planned(point: RecomputePoint, options: RecomputeOptions) -> PlanAndProblem | None:
    placed = point.placed
    return PlanAndProblem(problem=placed.problem, plan=placed.plan) if options.with_plans else None


def lines(found: RecomputeAnswer) -> Iterator[str]:
    """Yield the rows of a table for people."""
    first = found.points[0]
    yield f"operations   {len(first.order):>20,}"
    yield f"given peak   {found.given_peak:>20,} bytes"
    yield f"cost         {found.cost:>20,}"
    yield f"{'peak, bytes':>20}  {'of first':>8}  {'extra cost':>20}  {'of all':>8}  {'clones':>8}  status"
    for point in found.points:
        share = f"{100 * point.peak / first.peak:.1f} %" if first.peak else ""
        part = f"{100 * point.extra_cost / found.cost:.2f} %" if found.cost else ""
        sizes = f"{point.peak:>20,}  {share:>8}  {point.extra_cost:>20,}  {part:>8}"
        yield f"{sizes}  {len(point.clones):>8,}  {point.status}"
    if not found.is_within:
        yield "nothing was found within the budget; the last point is the nearest"


def _refuted(question: Question, found: RecomputeAnswer) -> str | None:
    every = set(range(len(question["graph"].ops)))
    is_all = all(set(point.order) == every for point in found.points)
    return None if is_all else "must run each of this graph's operations, and no others"


CAPABILITY = Capability(
    recompute,
    inputs=(GRAPH,),
    lines=lines,
    exit_status=lambda found: 0 if found.is_within else 1,
    exits={0: "the last point is within the budget, if there is one", 1: "nothing was found within it"},
    refutes=_refuted,
    example={
        "graph": {
            "size": [8, 1, 8, 1],
            "kept": [3],
            "ops": [{"out": [0]}, {"in": [0], "out": [1]}, {"in": [1], "out": [2]}, {"in": [0, 2], "out": [3]}],
        },
        "options": {"time_limit_s": 5},
    },
)
