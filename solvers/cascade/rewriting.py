"""Points of a cascade as lists of operations on parts: the one with the least peak is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memplan.planner.errors import OperationsError
from memplan.planner.operations.cascade.unrolled import Unrolled, unrolled
from memplan.solvers.cascade.points import CascadePoint


@dataclass(frozen=True)
class Rewriting:
    """A point, unrolled: `peak` are the most bytes of values alive at once, `position` is that of the point."""

    position: int
    peak: int
    point: CascadePoint
    found: Unrolled


def best_rewriting(points: Sequence[CascadePoint]) -> Rewriting:
    """Return the point whose unrolled form has the least peak, of equals the one with the fewest multiplications.

    What memory a point needs as a loop says little of that: joined parts are copies, and inputs die part by part.
    Raises OperationsError, the last one, where no point can be unrolled.
    """
    best: Rewriting | None = None
    last: OperationsError = OperationsError("points: must have one to be written")
    for position, point in enumerate(points):
        try:
            found = unrolled(point.cascade)
        except OperationsError as error:
            last = error
            continue
        peak = found.live_peak
        if best is None or peak < best.peak:
            best = Rewriting(position, peak, point, found)
    if best is None:
        raise last
    return best
