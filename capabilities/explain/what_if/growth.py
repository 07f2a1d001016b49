"""The bytes by which each buffer may grow before the peak rises, and live sets without a buffer.

The live sets bound how far it may grow at most, the free bytes beside it in a plan how far at least. Where these
differ, a plan with the most is searched for, and every plan that is found is looked through for free bytes beside the
other buffers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64, Bool

Fits = Callable[[int, int], "I64 | bool | None"]
"""The offsets (units) of a plan below the peak with another size of a buffer, False where there is none, None if that
stays open."""
_BISECTIONS = 40


class Loads:
    """The bytes alive in each live set of an instance, in units."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.load: I64 = np.asarray(instance.load(), dtype=np.int64)

    def beside(self, i: int) -> int:
        """Return the largest load while buffer `i` is alive, its own size included; its size if it never is."""
        found = self.load[self._alive(i)]
        return int(found.max()) if len(found) else int(self.instance.size[i])

    def without(self, i: int, less: int) -> int:
        """Return the largest load if buffer `i` had `less` units less."""
        changed: I64 = np.array(self.load)
        changed[self._alive(i)] = changed[self._alive(i)] - less
        return int(changed.max(initial=0))

    def _alive(self, i: int) -> Bool:
        alive, instance = np.zeros(len(self.load), dtype=np.bool_), self.instance
        for r in range(int(instance.first[i]), int(instance.first[i + 1])):
            alive[instance.start[r] : instance.end[r]] = True
        return alive


@dataclass(eq=False)
class Growth:
    """The growth of each buffer, in units: `least` is shown to fit, `most` not ruled out."""

    instance: Instance
    peak: int
    near: tuple[I64, I64]
    most: I64
    least: I64 = field(init=False)

    def __post_init__(self) -> None:
        self.least = np.zeros_like(self.most)

    def look_through(self, offset: I64, buffers: I64) -> None:
        """Learn from the free bytes beside some buffers in a plan, in which none of the buffers is smaller."""
        end = offset + self.instance.size
        for i in buffers.tolist():
            if self.least[i] < self.most[i]:
                room = self._room(i, offset, end) - int(self.instance.size[i])
                self.least[i] = max(int(self.least[i]), min(room, int(self.most[i])))

    def query(self, fits: Fits) -> None:
        """Query each buffer of which something is open, those that may grow most first."""
        for i in np.argsort(-self.most, kind="stable").tolist():
            if self.least[i] < self.most[i]:
                self._bisect(i, fits)

    def _bisect(self, i: int, fits: Fits) -> None:
        """Bisect between the bounds; the larger one is tried first."""
        # The largest growth that is not ruled out first: mostly the live sets are right, and it fits.
        size, middle = int(self.instance.size[i]), int(self.most[i])
        for _ in range(_BISECTIONS):
            answer = fits(i, size + middle)
            if answer is None:
                return
            if answer is False:
                self.most[i] = middle - 1
            elif answer is not True:
                self.least[i] = middle
                # A plan with room for one often shows room for its neighbours.
                self.look_through(answer, self.near[1][self.near[0][i] : self.near[0][i + 1]])
            if self.least[i] >= self.most[i]:
                return
            middle = int(self.least[i] + self.most[i] + 1) // 2

    def _room(self, i: int, offset: I64, end: I64) -> int:
        """Return the units of the largest free range below the peak for buffer `i` in a plan."""
        beside = self.near[1][self.near[0][i] : self.near[0][i + 1]]
        reserved = self.instance.pools[0].reserved
        low = np.concatenate((offset[beside], reserved[:, 0]))
        order = np.argsort(low, kind="stable")
        floors = np.maximum.accumulate(np.concatenate(([0], np.concatenate((end[beside], reserved[:, 1]))[order])))
        ceilings = np.minimum(np.append(low[order], self.peak), self.peak)
        step, lowest = int(self.instance.alignment[0, i]), int(self.instance.lowest[0, i])
        starts = lowest + np.maximum(0, -(-(floors - lowest) // step)) * step
        is_legal = starts <= self.instance.highest[0, i]
        return int((ceilings - starts).max(initial=0, where=is_legal))
