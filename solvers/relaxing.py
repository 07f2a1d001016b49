"""Proofs by fewer buffers: an exact search of some that a placement under the peak fails for is enough.

A part is infeasible under a capacity where some of its buffers are by themselves, and the search of a few is exhausted
in a moment where that of all is not. So a core grows, from one buffer, by those that stand in the way: as long as it
can be placed, the others are packed around it, and the first ones that do not fit join it. A core that takes too long
is given up for another one. What the core of all buffers is placed at is a better placement.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from planner.table import I64
from solvers.independence import Part
from solvers.kernels.exact import EXHAUSTED, FOUND, STOPPED
from solvers.ladder import ABOVE, ORDERS, Ladder

HEAD_START = 250
"""So many nodes for each buffer of a part are spent on the whole before any on cores; then both have as many."""
SMALL = 100
"""Larger parts have cores searched only once some capacity above the bound is ruled out: most have placements there."""
FIRST_LIMIT, LONGER = 250, 1.2
"""How many nodes for each buffer of a part a core is worth, and how many times as many the next one."""
COMPILING = 16
"""What making the sections of a core counts, in nodes for each of its buffers."""
JOINING = 16
"""One buffer joins a core at a time, and one more for each so many in it."""
NOISE = 0.5
"""How far the areas are shaken that say which buffers join first: the standard deviation of their logarithms."""
NOGOOD_BITS = 16


@dataclass(eq=False)
class Relaxing:
    """One climber's cores of one part, whose own rounds are those of `ladder`; positions are those in the part.

    `order` says who joins first; `core` is ascending, and empty where the next turn starts another one.
    """

    ladder: Ladder
    cores: int = 0
    nodes: int = 0
    core: list[int] = field(default_factory=list)
    order: list[int] = field(default_factory=list)

    @property
    def is_due(self) -> bool:
        """Whether the next round should be one on a core."""
        n = len(self.ladder.part.buffers)
        return (self.ladder.is_proving or n <= SMALL) and self.nodes <= self.ladder.nodes - HEAD_START * n

    def round(self, capacity: int, most: int, flag: I64) -> tuple[int, I64 | None]:
        """Search a core for at most `most` nodes, and have it grow, or give it up.

        Returns (need, None), where need > 0 is a capacity that the part takes at least, or (0, offsets) of the part.
        """
        n = len(self.ladder.part.buffers)
        if not self.core:
            self._begin()
        outcome, need, offset = self._search(capacity, min(self._limit, most), flag)
        if outcome == FOUND and len(self.core) == n:
            return 0, offset
        if outcome == FOUND:
            joining = self._who_does_not_fit(offset, capacity)[: 1 + len(self.core) // JOINING]
            self.core = sorted(self.core + joining) if joining else list(range(n))
        else:
            self.core = []
        return need if outcome == EXHAUSTED else 0, None

    @property
    def _limit(self) -> int:
        return int(FIRST_LIMIT * len(self.ladder.part.buffers) * LONGER ** (self.cores - 1))

    def _begin(self) -> None:
        """Begin another core: large buffers that live long first, or just large ones, in turns; later with noise."""
        sections, spans = self.ladder.part.sections, self.ladder.part.traits["C"]
        value = np.log(sections.extent) + (self.cores % 3 != 1) * np.log(spans)
        if self.cores > 0:
            value += self.ladder.rng.normal(0, NOISE, len(value))
        self.order = np.argsort(-value, kind="stable").tolist()
        self.core = self.order[:1]
        self.cores += 1

    def _search(self, capacity: int, limit: int, flag: I64) -> tuple[int, int, I64]:
        """Search the core in all orders, in rounds; return the outcome, the need, and the offsets."""
        part = self.ladder.part
        nogoods = np.zeros((1 << NOGOOD_BITS, 4), dtype=np.int64)
        core = Part(part.instance, part.lives, part.buffers[self.core])
        ladder = Ladder(core, self.ladder.rng, nogoods=nogoods, is_proving=True)
        outcome, need, offset = STOPPED, 0, self.ladder.no_guide
        while outcome not in (FOUND, EXHAUSTED) and ladder.nodes < limit and flag[0] == 0:
            longest, _ = ladder.begin(ABOVE)
            for order in range(len(ORDERS)):
                left = max(1, min(longest, limit - ladder.nodes))
                outcome, need, offset = ladder.run(ABOVE, order, capacity, left, flag)
                if outcome in (FOUND, EXHAUSTED):
                    break
            ladder.rounds[ABOVE] += 1
        self.nodes += ladder.nodes + COMPILING * len(self.core)
        return outcome, need, offset

    def _who_does_not_fit(self, offset: I64, capacity: int) -> list[int]:
        """Pack the others around the core by first fit, in their order; return those that end above the capacity.

        Alignments and obstacles are not looked at: this is but a way to choose.
        """
        sections = self.ladder.part.sections
        extent, first, neighbour = sections.extent.tolist(), sections.neighbour_first.tolist(), sections.neighbour
        placed = dict(zip(self.core, offset.tolist(), strict=True))
        found = []
        for i in self.order:
            if i in placed:
                continue
            near = [j for j in neighbour[first[i] : first[i + 1]].tolist() if j in placed]
            low = 0
            for start, end in sorted((placed[j], placed[j] + extent[j]) for j in near):
                if start - low >= extent[i]:
                    break
                low = max(low, end)
            if low + extent[i] <= capacity:
                placed[i] = low
            else:
                found.append(i)
        return found
