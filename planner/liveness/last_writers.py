"""A map from ranges of bytes to the sets of their possible last writers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

Writers = frozenset[int]
NO_WRITER: Writers = frozenset()


@dataclass
class ByteMap:
    """Half-open ranges in order, without gaps from the first: `starts[k]` to `starts[k + 1]` has `writers[k]`.

    Neighbours differ, and the last range has no writers and no end; so equal maps have equal lists.
    """

    starts: list[int] = field(default_factory=lambda: [0])
    writers: list[Writers] = field(default_factory=lambda: [NO_WRITER])

    def copy(self) -> ByteMap:
        """Return a map of its own with the same content."""
        return ByteMap(self.starts.copy(), self.writers.copy())

    def within(self, low: int, high: int) -> Iterator[Writers]:
        """Yield the writers of each range that has a byte in `[low, high)`."""
        first = bisect_right(self.starts, low) - 1
        yield from self.writers[first : bisect_left(self.starts, high, lo=first)]

    def put(self, low: int, high: int, writers: Writers) -> None:
        """Let `[low, high)`, which is not empty, have these writers; O(ranges) at worst, all of it one move."""
        first = bisect_left(self.starts, low)
        behind = bisect_right(self.starts, high)
        left, right = self.writers[first - 1] if first else None, self.writers[behind - 1]
        starts = [low] if writers != left else []
        new = [writers] if writers != left else []
        if right != writers:
            starts.append(high)
            new.append(right)
        self.starts[first:behind], self.writers[first:behind] = starts, new

    def forget(self, low: int, high: int, writer: int) -> None:
        """Take a writer out of `[low, high)`."""
        for start, end, writers in list(self._cut(low, high)):
            if writer in writers:
                self.put(start, end, writers - {writer})

    def join(self, other: ByteMap) -> ByteMap:
        """Return the map in which each byte has its writers of both."""
        found = ByteMap([], [])
        i = j = -1
        while i + 1 < len(self.starts) or j + 1 < len(other.starts):
            mine = self.starts[i + 1] if i + 1 < len(self.starts) else None
            others = other.starts[j + 1] if j + 1 < len(other.starts) else None
            at = min(start for start in (mine, others) if start is not None)
            i, j = i + (mine == at), j + (others == at)
            writers = self.writers[i] | other.writers[j]
            if not found.writers or found.writers[-1] != writers:
                found.starts.append(at)
                found.writers.append(writers)
        return found

    def _cut(self, low: int, high: int) -> Iterator[tuple[int, int, Writers]]:
        first = bisect_right(self.starts, low) - 1
        for k in range(first, bisect_left(self.starts, high, lo=first)):
            end = self.starts[k + 1] if k + 1 < len(self.starts) else high
            yield max(low, self.starts[k]), min(high, end), self.writers[k]
