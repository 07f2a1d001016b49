"""The demands of buffers on shared objects (lifetimes, widths, heights), and the cost of an assignment to objects."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from memplan.planner.instance.compile import live_sets

MOST_AMOUNT = 2**62
Objects = list[int]
"""An assignment of buffers to objects: entry i is the number of buffer i's object."""
IsOver = Callable[[], bool]


@dataclass(frozen=True)
class Demands:
    """Buffers of one kind with widths and heights; buffer i is alive in the live sets from first[i] to before last[i].

    A buffer of bytes has height 1. If `ratio` is given, no side of an object may exceed `ratio` times the same side of
    any buffer in it.
    """

    first: tuple[int, ...]
    last: tuple[int, ...]
    width: tuple[int, ...]
    height: tuple[int, ...]
    ratio: int | None = None

    def __len__(self) -> int:
        """Return the number of buffers."""
        return len(self.first)

    @cached_property
    def amounts(self) -> tuple[int, ...]:
        """The size of each buffer (width times height), in bytes or texels."""
        return tuple(w * h for w, h in zip(self.width, self.height, strict=True))

    @cached_property
    def n_sets(self) -> int:
        """The number of live sets; a live set consists of all buffers that are alive at one time."""
        return max(self.last, default=0)

    @cached_property
    def is_plain(self) -> bool:
        """True if a buffer fits into every object of at least its size, whatever the object's width and height."""
        return self.ratio is None and len(set(self.height)) < 2

    def meet(self, i: int, j: int) -> bool:
        """Return True if buffers i and j are alive at the same time."""
        return self.first[i] < self.last[j] and self.first[j] < self.last[i]

    def amount(self, members: Sequence[int]) -> int | None:
        """Return the size (width times height) of the smallest object for all `members`; None if `ratio` forbids it."""
        widths, heights = [self.width[i] for i in members], [self.height[i] for i in members]
        w, h = max(widths, default=0), max(heights, default=0)
        if self.ratio is not None and members and (w > self.ratio * min(widths) or h > self.ratio * min(heights)):
            return None
        return w * h

    def cost(self, where: Objects) -> int | None:
        """Return the total size of all objects in the assignment `where`; None if `ratio` forbids one of them."""
        amounts = [self.amount(members) for members in groups(where)]
        return None if None in amounts else sum(each or 0 for each in amounts)

    @cached_property
    def size_bounds(self) -> tuple[int, ...]:
        """Lower bounds on object sizes from all live sets: the k-th largest object is at least as large as entry k."""
        sets: list[int] = []
        for members in self.live_sets:
            sets += [0] * (len(members) - len(sets))
            for k, i in enumerate(members):
                sets[k] = max(sets[k], self.amounts[i])
        return tuple(sets)

    @cached_property
    def live_sets(self) -> list[list[int]]:
        """The buffers of each live set, in descending order of size."""
        alive: list[list[int]] = [[] for _ in range(self.n_sets)]
        for i in sorted(range(len(self)), key=lambda i: (-self.amounts[i], -self.last[i])):
            for t in range(self.first[i], self.last[i]):
                alive[t].append(i)
        return alive


def demands(
    lifetimes: Sequence[tuple[int, int]], sides: Sequence[tuple[int, int]], ratio: int | None = None
) -> Demands:
    """Return the demands of buffers with these lifetimes (start, end) and these sides (width, height)."""
    start, end = np.array(lifetimes, dtype=np.int64).reshape(-1, 2).T
    first, last, _ = live_sets(start, end)
    widths, heights = zip(*sides, strict=True) if sides else ((), ())
    return Demands(tuple(first.tolist()), tuple(last.tolist()), tuple(widths), tuple(heights), ratio)


def groups(where: Objects) -> list[list[int]]:
    """Return the buffers in each object of an assignment; objects without buffers are omitted."""
    groups: dict[int, list[int]] = {}
    for i, each in enumerate(where):
        groups.setdefault(each, []).append(i)
    return list(groups.values())
