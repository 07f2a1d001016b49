"""Points of a cascade as lists of operations on parts, with what each costs TFLite Micro."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

from memplan.capabilities.cascade.answer import CascadePoint
from memplan.capabilities.cascade.in_parts.write import OPERATION_BYTES, arena_estimate
from memplan.capabilities.cascade.regions.counts import runs_of
from memplan.capabilities.cascade.regions.regions import Cascade, CascadeRegion, Span, Stripes, hull
from memplan.capabilities.cascade.regions.unrolled import Unrolled, unrolled
from memplan.planner.errors import OperationsError

_TOGETHER = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""The numbers of steps that are tried as one: fewer operations, which have a price of their own, on larger parts."""


@dataclass(frozen=True)
class Rewriting:
    """A point, unrolled: `peak` are the most bytes of values alive at once.

    `needed` is that, and what operations, values and channels cost TFLite Micro besides.
    """

    peak: int
    point: CascadePoint
    found: Unrolled
    needed: int


def rewritings(points: Sequence[CascadePoint], most: float = inf) -> Iterator[Rewriting]:
    """Yield all unrolled forms of points, but for those whose operations alone cost TFLite Micro more than `most`.

    What memory a point needs as a loop says little of that: joined parts are copies, inputs die part by part, and
    where operations have bytes of their own, several steps as one need fewer of them. Raises OperationsError, the last
    one, where no point can be unrolled.
    """
    last: OperationsError | None = OperationsError("points: must have one to be written")
    for point in points:
        for cascade in coarser(point.cascade):
            if OPERATION_BYTES * runs_of(cascade) > most:
                last = None
                continue
            try:
                found = _unrolled(cascade)
            except OperationsError as error:
                last = None if last is None else error
                continue
            last = None
            yield Rewriting(found.live_peak, point, found, arena_estimate(found))
    if last is not None:
        raise last


def _unrolled(cascade: Cascade) -> Unrolled:
    """Return a cascade unrolled; regions whose joined parts make its peak run layer by layer, where that is lower.

    Before an operation that runs whole, a tensor that is made in parts is there twice.
    """
    found = unrolled(cascade)
    live = found.live()
    while (at := live.index(max(live))) and at <= len(found.steps) and found.steps[at - 1].kind == "join":
        maker = found.graph.maker[found.values[found.steps[at - 1].outputs[0]].tensor]
        regions = list[CascadeRegion]()
        for region in cascade.regions:
            is_apart = maker is not None and region.first <= maker < region.end
            alone = (CascadeRegion.whole(0, v) for v in region.ops)
            regions += alone if is_apart else (region,)
        cascade = replace(cascade, regions=tuple(regions))
        other = unrolled(cascade)
        if max(other.live()) >= max(live):
            break
        found, live = other, other.live()
    return found


def coarser(cascade: Cascade) -> Iterator[Cascade]:
    """Yield forms of a cascade in which several steps along the rows are one, and all along the columns; itself last.

    Those with the fewest runs come first, so that finer ones whose runs alone cost more need not be looked at.
    """
    steps = [region.steps for region in cascade.regions]
    most_rows, most_columns = (max((row[axis] for row in steps), default=1) for axis in (0, 1))
    for columns in sorted({1, most_columns}, reverse=True):
        for rows in reversed(_TOGETHER):
            # All steps as one is the layer as it was.
            if rows < most_rows or rows == columns == 1:
                yield replace(
                    cascade, regions=tuple(_with_steps_as_one(region, rows, columns) for region in cascade.regions)
                )


def _with_steps_as_one(region: CascadeRegion, rows: int, columns: int) -> CascadeRegion:
    if region.kind == "whole":
        return region
    return region.remade(
        {
            v: Stripes(rows=_together(row.rows, rows), columns=_together(row.columns, columns))
            for v, row in region.ranges.items()
        }
    )


def _together(spans: Sequence[Span], count: int) -> tuple[Span, ...]:
    return tuple(hull(spans[k : k + count]) for k in range(0, len(spans), count))
