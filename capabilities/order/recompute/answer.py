"""The part of an order's answer for operations that run again: points with falling peaks and rising costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from memplan.capabilities.capability import Answer
from memplan.capabilities.inputs import PlanAndProblem
from memplan.capabilities.order.recompute.frontier import RecomputeFrontier, RecomputePoint
from memplan.capabilities.texts import share_of
from memplan.planner.errors import shown


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
    planned: PlanAndProblem | None = Field(None, exclude_if=lambda planned: planned is None)


class Recomputed(Answer):
    """Programs with falling peaks and rising costs; the last point is the answer. Sizes are in bytes.

    `cost` is that of running every operation once, `is_within` says if the last point is within the limit.
    """

    extra_cost: int
    cost: int
    is_within: bool
    points: tuple[RecomputePointRow, ...]
    frontier: SkipJsonSchema[RecomputeFrontier | None] = Field(None, exclude=True, repr=False)

    def lines(self) -> Iterator[str]:
        """Yield the rows of the points for people."""
        first = self.points[0]
        yield f"cost         {self.cost:>20,}"
        yield f"{'peak, bytes':>20}  {'of first':>8}  {'extra cost':>20}  {'of all':>8}  {'clones':>8}  status"
        for point in self.points:
            share = f"{100 * point.peak / first.peak:.1f} %" if first.peak else ""
            part = f"{100 * point.extra_cost / self.cost:.2f} %" if self.cost else ""
            sizes = f"{point.peak:>20,}  {share:>8}  {point.extra_cost:>20,}  {part:>8}"
            yield f"{sizes}  {len(point.clones):>8,}  {point.status}"
        if not self.is_within:
            yield "no program was found within the limit; the last point is the nearest"


def recomputed(frontier: RecomputeFrontier, with_plans: bool) -> Recomputed:
    """Return the part of an answer that a frontier is."""
    rows = tuple(
        RecomputePointRow.of(point, planned=_planned(point) if with_plans else None) for point in frontier.points
    )
    return Recomputed.of(rows[-1], frontier, points=rows, frontier=frontier)


def _planned(point: RecomputePoint) -> PlanAndProblem:
    return PlanAndProblem(problem=point.placed.problem, plan=point.placed.plan)
