"""Free bytes below an end among reserved ranges, and the least end with so many free bytes below it."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate


class Reserve:
    """Reserved ranges of a pool, ascending and disjoint, as Python integers; O(log ranges) a question."""

    def __init__(self, ranges: list[tuple[int, int]]) -> None:
        self.lows = [low for low, _ in ranges]
        self.before = list(accumulate((high - low for low, high in ranges), initial=0))
        """The sum of what is reserved before each range, and in all."""
        self.free = [low - before for low, before in zip(self.lows, self.before, strict=False)]
        """The sum of what is free before each range, which never falls."""

    def free_below(self, end: int) -> int:
        """Return the sum of what is free below `end`."""
        k = bisect_left(self.lows, end)
        # Where `end` lies in a range, the difference counts some of it that lies above.
        return end if k == 0 else max(self.free[k - 1], end - self.before[k])

    def reach(self, amount: int) -> int:
        """Return the least end below which `amount` is free."""
        return amount + self.before[bisect_left(self.free, amount)]
