"""Live sets as far as single buffers change them: the bound without a buffer, and the room beside it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64


class Loads:
    """The bytes alive in each live set of an instance, in units, and their largest over runs of live sets."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.load: I64 = np.asarray(instance.load(), dtype=np.int64)
        self.before = np.concatenate(([0], np.maximum.accumulate(self.load)))
        self.after = np.concatenate((np.maximum.accumulate(self.load[::-1])[::-1], [0]))
        self._largest = [self.load]
        # Maxima over runs of 1, 2, 4, ... live sets: any run is two of these, which may overlap.
        while 2 ** len(self._largest) <= len(self.load):
            last, step = self._largest[-1], 2 ** (len(self._largest) - 1)
            self._largest.append(np.maximum(last[:-step], last[step:]))

    def within(self, start: int, end: int) -> int:
        """Return the largest load of the live sets `start` to `end`, half-open and not empty."""
        level = (end - start).bit_length() - 1
        row = self._largest[level]
        return int(max(row[start], row[end - (1 << level)]))

    def beside(self, i: int) -> int:
        """Return the largest load while buffer `i` is alive, its own size included; its size if it never is."""
        spans = self._spans(i)
        return max((self.within(start, end) for start, end in spans), default=int(self.instance.size[i]))

    def without(self, i: int, less: int) -> int:
        """Return the largest load if buffer `i` had `less` units less."""
        spans = self._spans(i)
        if not spans:
            return int(self.load.max(initial=0))
        found = [self.within(start, end) - less for start, end in spans]
        # Before and after the buffer, and in its holes, loads are as they are.
        found += [int(self.before[spans[0][0]]), int(self.after[spans[-1][1]])]
        found += [self.within(a[1], b[0]) for a, b in pairwise(spans) if a[1] < b[0]]
        return max(found)

    def _spans(self, i: int) -> list[tuple[int, int]]:
        rows: Any = slice(int(self.instance.first[i]), int(self.instance.first[i + 1]))
        return list(zip(self.instance.start[rows].tolist(), self.instance.end[rows].tolist(), strict=True))
