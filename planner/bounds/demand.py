"""Lower bounds on the bytes that simultaneously live buffers need, where some buffers may share bytes.

A live set needs the sum of its buffers' sizes, with two exceptions. If two buffers may share an offset, the smaller one
may be inside the larger one, so only the larger one counts. The members of a rigid group have fixed distances, so the
group needs the union of their byte ranges.
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64, column

Spans = list[tuple[int, int]]
"""Half-open runs of consecutive live sets, ascending and disjoint."""


class Demand(NamedTuple):
    """The demand of live sets: a sum of terms, stored in arrays of equal length.

    Term r adds `size[r]` units of buffer `lifetime_buffer[r]` to each live set from `start[r]` to `end[r]` (exclusive).
    """

    lifetime_buffer: I64
    size: I64
    start: I64
    end: I64

    @classmethod
    def from_instance(cls, instance: Instance) -> "Demand":
        """Return the demand terms of an instance.

        A buffer that shares no bytes has one term per lifetime. A buffer that shares bytes has a term for each range of
        live sets in which its bytes count. A rigid group has terms for each covered byte range.
        """
        lifetime_buffer, start, end = instance.lifetime_buffer, instance.start, instance.end
        if instance.features.isdisjoint({"relative", "sharing"}):
            return cls(lifetime_buffer, instance.size[lifetime_buffer], start, end)
        is_joined = np.isin(instance.anchor, instance.anchor[instance.anchor != np.arange(len(instance))])
        is_smaller = np.diff(instance.share_first) > 0
        is_special = is_joined | is_smaller
        alive = {i: list(_counting_live_sets(instance, i)) for i in np.flatnonzero(is_special).tolist()}
        rows = [
            (i, int(instance.size[i]), low, high)
            for i in np.flatnonzero(is_smaller & ~is_joined).tolist()
            for low, high in alive[i]
        ]
        groups: dict[int, list[int]] = {}
        for i in np.flatnonzero(is_joined).tolist():
            groups.setdefault(int(instance.anchor[i]), []).append(i)
        for members in groups.values():
            rows += _rigid_group_terms(instance, members, alive)
        usual = ~is_special[lifetime_buffer]
        plain = np.stack((lifetime_buffer, instance.size[lifetime_buffer], start, end))[:, usual]
        more = np.array(rows, dtype=np.int64).reshape(-1, 4).T
        return cls(*map(column, np.concatenate((plain, more), axis=1)))


def _live_set_ranges(instance: Instance, i: int) -> Spans:
    rows = slice(int(instance.first[i]), int(instance.first[i + 1]))
    return list(zip(instance.start[rows].tolist(), instance.end[rows].tolist(), strict=True))


def _counting_live_sets(instance: Instance, i: int) -> Iterator[tuple[int, int]]:
    """Yield the half-open ranges of live sets in which the bytes of buffer `i` count.

    While two buffers that may share bytes are both alive, only the larger one counts. So all buffers that count in a
    live set use disjoint bytes.
    """
    partners = instance.share[instance.share_first[i] : instance.share_first[i + 1]].tolist()
    mine = (-int(instance.size[i]), i)
    hidden = sorted(
        span for j in partners if (-int(instance.size[j]), j) < mine for span in _live_set_ranges(instance, j)
    )
    for low, high in _live_set_ranges(instance, i):
        for start, end in hidden:
            if low < start < high:
                yield low, start
            if start < high:
                low = max(low, end)
        if low < high:
            yield low, high


def _rigid_group_terms(
    instance: Instance, members: list[int], alive: dict[int, Spans]
) -> Iterator[tuple[int, int, int, int]]:
    """Yield the demand terms (buffer, size, start, end) for all bytes that buffers at fixed distances occupy.

    The group's byte ranges are cut at the start and end of each member. Each piece counts once in every live set in
    which a member that covers the piece is alive; its term names one of these members.
    """
    low = {i: int(instance.distance[i]) for i in members}
    high = {i: low[i] + int(instance.size[i]) for i in members}
    cuts = sorted({*low.values(), *high.values()})
    waiting = sorted(members, key=lambda i: -low[i])
    here: list[int] = []
    for bottom, top in pairwise(cuts):
        here = [i for i in here if high[i] > bottom]
        while waiting and low[waiting[-1]] == bottom:
            here.append(waiting.pop())
        reached = -1
        for (start, end), i in sorted((span, k) for k in here for span in alive[k]):
            if end > reached:
                yield i, top - bottom, max(start, reached), end
                reached = end


class Reserve:
    """The reserved ranges of a pool, ascending and disjoint.

    A query takes time logarithmic in the number of ranges. Offsets are Python integers, which cannot overflow.
    """

    def __init__(self, ranges: list[tuple[int, int]]) -> None:
        """Store the start of each range, and the reserved and free bytes below each start."""
        self.lows = [low for low, _ in ranges]
        self.before = list(accumulate((high - low for low, high in ranges), initial=0))
        """The number of reserved bytes before each range, followed by the total."""
        self.free = [low - before for low, before in zip(self.lows, self.before, strict=False)]
        """The number of free bytes before each range, a non-decreasing list."""

    def free_below(self, end: int) -> int:
        """Return the number of unreserved bytes at offsets less than `end`."""
        k = bisect_left(self.lows, end)
        # If `end` lies inside a reserved range, `before` also counts reserved bytes above `end`, so take the maximum.
        return end if k == 0 else max(self.free[k - 1], end - self.before[k])

    def reach(self, amount: int) -> int:
        """Return the smallest offset that has at least `amount` unreserved units below it."""
        return amount + self.before[bisect_left(self.free, amount)]
