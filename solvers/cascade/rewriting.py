"""Points of a cascade as lists of operations on parts: the one that costs a runtime least is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from memplan.planner.errors import OperationsError
from memplan.planner.exporters.rewritten.write import NO_COST, RuntimeCost
from memplan.planner.operations.cascade.regions import Cascade, Span, hull, runs_of
from memplan.planner.operations.cascade.unrolled import Unrolled, unrolled
from memplan.solvers.cascade.points import CascadePoint

_TOGETHER = (1, 2, 3, 4, 6, 8, 12, 16)
"""The numbers of steps that are tried as one: fewer operations, which have a price of their own, on larger parts."""


@dataclass(frozen=True)
class Rewriting:
    """A point, unrolled: `peak` are the most bytes of values alive at once, `position` is that of the point."""

    position: int
    peak: int
    point: CascadePoint
    found: Unrolled


def best_rewriting(points: Sequence[CascadePoint], cost: RuntimeCost = NO_COST) -> Rewriting:
    """Return the point whose unrolled form needs least in a runtime, of equals the one with the fewest multiplications.

    What memory a point needs as a loop says little of that: joined parts are copies, inputs die part by part, and
    where operations have bytes of their own, several steps as one need fewer of them. Raises OperationsError, the last
    one, where no point can be unrolled.
    """
    best: Rewriting | None = None
    least = 0
    last: OperationsError = OperationsError("points: must have one to be written")
    for position, point in enumerate(points):
        for cascade in coarser(point.cascade) if cost.operation else (point.cascade,):
            # Its operations alone cost more than the best form takes in all.
            if best is not None and cost.operation * runs_of(cascade) > least:
                continue
            try:
                found = unrolled(cascade)
            except OperationsError as error:
                last = error
                continue
            needed = cost.bytes_of(found)
            if best is None or needed < least:
                best, least = Rewriting(position, found.live_peak, point, found), needed
    if best is None:
        raise last
    return best


def coarser(cascade: Cascade) -> Iterator[Cascade]:
    """Yield a cascade, and those in which several steps along the rows are one."""
    most = max((region.steps[0] for region in cascade.regions), default=1)
    for together in _TOGETHER:
        # All steps as one is the layer as it was.
        if together > 1 and together >= most:
            return
        regions = [
            replace(
                region,
                made={
                    v: replace(stripes, rows=_together(stripes.rows, together)) for v, stripes in region.made.items()
                },
            )
            for region in cascade.regions
        ]
        yield cascade if together == 1 else replace(cascade, regions=tuple(regions))


def _together(spans: Sequence[Span], count: int) -> tuple[Span, ...]:
    return tuple(hull(spans[k : k + count]) for k in range(0, len(spans), count))
