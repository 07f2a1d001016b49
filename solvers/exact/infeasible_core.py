"""Proofs by fewer buffers: a component needs its peak if some of its buffers, a core, need it by themselves.

The search of a core is often exhausted in a moment where that of the whole is not. So a core grows by what stands in
the way: as long as it has a placement under the peak, the others are packed around it, and the first ones that do not
fit join it. A core that takes too long is given up for another one. A core of all buffers that has a placement is no
proof, but a better peak.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.exact import EXHAUSTED, FOUND, STOPPED
from memplan.solvers.exact.components import Component
from memplan.solvers.exact.restarts import ABOVE, ABOVE_WIDE, ORDERS, RestartSchedule

HEAD_START = 250
"""So many nodes for each buffer of a component are spent on the whole before any on cores; then both have as many."""
SMALL = 100
"""Larger components have cores searched only once some capacity above the bound is ruled out: most have placements
there.
"""
FIRST_LIMIT, LONGER = 250, 1.2
"""Nodes for each buffer of a component that the first core may take, and the factor for each next one."""
COMPILING = 16
"""The price of making the sections of a core, in nodes for each of its buffers."""
FIRST_SHARE = 8
"""A core begins with one buffer, and one more for each so many in the component."""
JOINING = 16
"""One buffer joins a core at a time, and one more for each so many in it."""
NOISE = 0.5
"""Noise in the order in which buffers join: the standard deviation of the logarithm of the value that ranks them."""
NOGOOD_BITS = 16


@dataclass(eq=False)
class InfeasibleCore:
    """The cores that one search thread tries on one component; positions are those in the component.

    `schedule` has the rounds on the whole component, `search` those on the core, if there is one. `order` says which
    buffers join first; `core` is ascending.
    """

    schedule: RestartSchedule
    cores: int = 0
    nodes: int = 0
    core: list[int] = field(default_factory=list)
    order: list[int] = field(default_factory=list)
    search: RestartSchedule | None = None

    @property
    def is_due(self) -> bool:
        """True if the next round should be one on a core."""
        n = len(self.schedule.component.buffers)
        return (self.schedule.is_proving or n <= SMALL) and self.nodes <= self.schedule.nodes - HEAD_START * n

    def round(self, capacity: int, most: int, flag: I64) -> tuple[int, I64 | None]:
        """Search a core for at most `most` nodes, and have it grow, or give it up.

        Returns (need, None), where need > 0 is a capacity that the component takes at least, or (0, offsets) of the
        component.
        """
        n = len(self.schedule.component.buffers)
        search = self.search or self._other_core()
        before = search.nodes
        outcome, need, offset = _run(search, capacity, min(most, self._limit - search.nodes), flag)
        self.nodes += search.nodes - before
        # The core has grown to the whole: its placement is one of the component.
        if outcome == FOUND and len(self.core) == n:
            self.search = None
            return 0, offset
        if outcome == FOUND:
            # The first that do not fit around it are what the core lacks for a proof.
            joining = self._misfits(offset, capacity)[: 1 + len(self.core) // JOINING]
            self._set_core(self.core + joining if joining else list(range(n)))
        elif outcome == EXHAUSTED or search.nodes >= self._limit:
            self.search = None
        return need if outcome == EXHAUSTED else 0, None

    @property
    def _limit(self) -> int:
        return int(FIRST_LIMIT * len(self.schedule.component.buffers) * LONGER ** (self.cores - 1))

    def _other_core(self) -> RestartSchedule:
        """Begin another core: first come buffers that are large and alive where searches of the whole have failed."""
        sections, kind = self.schedule.component.sections, (ABOVE, ABOVE_WIDE)[self.cores % 2]
        failures = np.append(0.0, np.cumsum(self.schedule.weights[kind]))
        # Size times the failures of its sections: what searches of the whole could not place.
        value = np.log(sections.extent * (failures[sections.rightmost] - failures[sections.leftmost]))
        # The first core is by the failures alone; later ones differ by chance.
        if self.cores > 0:
            value += self.schedule.rng.normal(0, NOISE, len(value))
        self.order = np.argsort(-value, kind="stable").tolist()
        self.cores += 1
        return self._set_core(self.order[: 1 + len(value) // FIRST_SHARE])

    def _set_core(self, core: list[int]) -> RestartSchedule:
        """Make what is needed to search a core."""
        component = self.schedule.component
        self.core = sorted(core)
        self.nodes += COMPILING * len(core)
        piece = Component(component.instance, component.lives, component.buffers[self.core])
        self.search = RestartSchedule(piece, self.schedule.rng, nogood_bits=NOGOOD_BITS, is_proving=True)
        return self.search

    def _misfits(self, offset: I64, capacity: int) -> list[int]:
        """Pack the others around the core by first fit, in their order; return those that end above the capacity.

        Alignments and obstacles are not looked at: this is but a way to choose.
        """
        sections = self.schedule.component.sections
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


def _run(search: RestartSchedule, capacity: int, most: int, flag: I64) -> tuple[int, int, I64]:
    """Search in all orders, in rounds, for about `most` nodes; return the outcome, the need, and the offsets."""
    end = search.nodes + max(1, most)
    outcome, need, offset = STOPPED, 0, search.no_guide
    while outcome not in (FOUND, EXHAUSTED) and search.nodes < end and flag[0] == 0:
        longest, _ = search.begin(ABOVE)
        for order in range(len(ORDERS)):
            outcome, need, offset = search.run(ABOVE, order, capacity, max(1, min(longest, end - search.nodes)), flag)
            if outcome in (FOUND, EXHAUSTED):
                break
        search.rounds[ABOVE] += 1
    return outcome, need, offset
