"""Ranges of steps in closed form: clamp(A * y + B, low, high) for the first and for the end."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memplan.capabilities.cascade.regions.regions import Span


class Line(NamedTuple):
    """The number clamp(slope * y + offset, low, high) of step y."""

    slope: int
    offset: int
    low: int
    high: int

    def at(self, step: int) -> int:
        """Return the number of a step."""
        return min(max(self.slope * step + self.offset, self.low), self.high)


def lines_of(spans: Sequence[Span]) -> tuple[Line, Line] | None:
    """Return the lines of the firsts and of the ends of ranges; None where there are none that are exact.

    Where a range is empty, the lines give one that is empty, too.
    """
    some = {step: span for step, span in enumerate(spans) if span[0] < span[1]}
    if not some:
        return Line(0, 0, 0, 0), Line(0, 0, 0, 0)
    top = max(end for _, end in some.values())
    for end in _candidates({step: span[1] for step, span in some.items()}, top):
        for first in _candidates({step: span[0] for step, span in some.items()}, top):
            if all(
                (first.at(y), end.at(y)) == span or (y not in some and first.at(y) >= end.at(y))
                for y, span in enumerate(spans)
            ):
                return first, end
    return None


def _candidates(wanted: dict[int, int], top: int) -> Iterator[Line]:
    """Yield lines through numbers of steps: constant, or through two neighbours between the lowest and the highest."""
    least, most = min(wanted.values()), max(wanted.values())
    steps = sorted(wanted)
    if least == most:
        yield Line(0, least, 0, top)
        # From here on: a line that is there before the first step of all that is made.
    for high in dict.fromkeys((most, top)):
        slopes = dict.fromkeys(
            (wanted[b] - wanted[a]) // (b - a)
            for a, b in itertools.pairwise(steps)
            if wanted[a] < wanted[b] and (wanted[b] - wanted[a]) % (b - a) == 0
        )
        # Ranges that borders cut on both sides have few slopes; a table serves where these are not exact.
        for slope in list(slopes)[:4]:
            inner = [y for y in steps if 0 < wanted[y] < high] or steps
            for y in (inner[0], inner[-1]):
                line = Line(slope, wanted[y] - slope * y, 0, high)
                if all(line.at(step) == number for step, number in wanted.items()):
                    yield line
