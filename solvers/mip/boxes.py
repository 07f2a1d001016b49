"""What the integer program speaks of: boxes on a grid of offsets, where each may lie, and which conflict.

All numbers are exact integers, in units. Offsets are multiples of a granule (plus a shift that belongs to the memory),
so a box keeps everything else away from its size rounded up to the granule: its room.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import gcd

import numpy as np

from planner.cliques import heavy_clique
from planner.instance import Instance


def up(value: int, step: int) -> int:
    """Return the least multiple of `step` that is not below `value`."""
    return -(-value // step) * step


@dataclass(frozen=True)
class Grid:
    """Every offset in memory `q` is shift[q] plus a multiple of `granule`."""

    granule: int
    shift: tuple[int, ...]

    @classmethod
    def of(cls, instance: Instance) -> Grid:
        """Return the coarsest grid that all buffers of the instance keep to, wherever they lie."""
        granule, shift = 0, []
        for q in range(len(instance.memories)):
            mine = instance.allowed[q]
            residue = instance.residue[q, mine].tolist()
            shift.append(min(residue, default=0))
            granule = gcd(granule, *instance.alignment[q, mine].tolist(), *(value - shift[q] for value in residue))
        return cls(granule or 1, tuple(value % (granule or 1) for value in shift))

    def ceil(self, q: int, offset: int) -> int:
        """Return the first offset of memory `q` on the grid that is not below `offset` (nor below the shift)."""
        return self.shift[q] + max(0, up(offset - self.shift[q], self.granule))


@dataclass(frozen=True, eq=False)
class Box:
    """A buffer, or a reserved range, which lies where it lies.

    `room` is what it takes of the grid. `span[q]` holds the lowest and the highest offset that it may have in memory
    `q`, for the memories only that it may lie in; its offsets there are the lowest plus multiples of `step[q]`. A
    reserved range starts `early`: that much below the grid.
    """

    size: int
    room: int
    span: dict[int, tuple[int, int]]
    step: dict[int, int]
    early: int = 0

    @property
    def waste(self) -> int:
        """What a buffer's room has beyond its size."""
        return self.room - self.size

    @property
    def lowest(self) -> int:
        """The lowest offset in any memory."""
        return min((low for low, _ in self.span.values()), default=0)

    @property
    def highest(self) -> int:
        """The highest offset in any memory."""
        return max((high for _, high in self.span.values()), default=0)


@dataclass(frozen=True, eq=False)
class Boxes:
    """The boxes of an instance when no end in memory `q` may pass limit[q]: its `n` buffers, then reserved ranges."""

    instance: Instance
    limit: tuple[int, ...]

    @property
    def n(self) -> int:
        """How many of the boxes are buffers."""
        return len(self.instance)

    @cached_property
    def grid(self) -> Grid:
        """The grid that offsets keep to."""
        return Grid.of(self.instance)

    @cached_property
    def all(self) -> list[Box]:
        """The buffers, in the instance's order, and then the reserved ranges."""
        ranges = enumerate(memory.reserved.tolist() for memory in self.instance.memories)
        reserved = [
            self._reserved(q, low, high)
            for q, rows in ranges
            for low, high in rows
            if low < self.limit[q] and high > self.grid.shift[q]
        ]
        return [self._buffer(i) for i in range(self.n)] + reserved

    def _buffer(self, i: int) -> Box:
        instance = self.instance
        size, pin = int(instance.size[i]), int(instance.pin[i])
        span, steps = {}, {}
        for q in np.flatnonzero(instance.allowed[:, i]).tolist():
            step, low = int(instance.alignment[q, i]), int(instance.residue[q, i])
            room = self.limit[q] - size
            low, high = (pin, min(pin, room)) if pin >= 0 else (low, low + (room - low) // step * step)
            if low <= high:
                span[q], steps[q] = (low, high), step
        return Box(size, up(size, self.grid.granule), span, steps)

    def _reserved(self, q: int, low: int, high: int) -> Box:
        """Extend the range up to the grid, where what lies above it starts; its room is what it takes of the grid."""
        start, end = self.grid.ceil(q, low), self.grid.ceil(q, high)
        return Box(end - low, end - start, {q: (low, low)}, {q: 1}, start - low)

    @cached_property
    def live_sets(self) -> list[list[int]]:
        """The maximal live sets, as ascending buffers."""
        members: list[list[int]] = [[] for _ in range(self.instance.n_live_sets)]
        lifetimes = zip(self.instance.owner, self.instance.start, self.instance.end, strict=True)
        for owner, start, end in lifetimes:
            for t in range(int(start), int(end)):
                members[t].append(int(owner))
        return [sorted(set(some)) for some in members]

    @cached_property
    def crowds(self) -> list[list[int]]:
        """Sets of buffers that conflict pairwise: maximal live sets and, with explicit conflicts, a heavy clique."""
        named = [heavy_clique(self.instance).tolist()] if len(self.instance.conflict) else []
        return [*self.live_sets, *named]

    def neighbours(self, i: int) -> list[int]:
        """Return the buffers that conflict with buffer `i` by name."""
        first = self.instance.conflict_first
        found: list[int] = self.instance.conflict[first[i] : first[i + 1]].tolist()
        return found

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs (a, b), a < b, that must not share bytes and have a memory in which they could."""
        found = {(a, b) for some in self.live_sets for k, a in enumerate(some) for b in some[k + 1 :]}
        found |= {(i, j) for i in range(self.n) for j in self.neighbours(i) if i < j}
        found |= {(i, j) for j in range(self.n, len(self.all)) for i in range(self.n)}
        return sorted(pair for pair in found if self.shared(*pair))

    def shared(self, a: int, b: int) -> list[int]:
        """Return the memories that both boxes may lie in."""
        return [q for q in self.all[a].span if q in self.all[b].span]

    def may_lie_below(self, a: int, b: int) -> bool:
        """Return whether box `a` may lie in the same memory as box `b`, and below it."""
        first, second, distance = self.all[a], self.all[b], self.distance(a, b)
        return any(first.span[q][0] + distance <= second.span[q][1] for q in self.shared(a, b))

    def distance(self, a: int, b: int) -> int:
        """Return how far above the offset of box `a` that of box `b` must be, at least, where `a` lies below it."""
        return self.all[a].room if max(a, b) < self.n else self.all[a].size

    def twins(self) -> Iterator[tuple[int, int]]:
        """Yield the pairs of buffers, neighbours among their like, that can be exchanged in any plan."""
        instance, last = self.instance, dict[object, int]()
        lifetimes = [
            tuple(zip(instance.start[a:b].tolist(), instance.end[a:b].tolist(), strict=True))
            for a, b in zip(instance.first.tolist(), instance.first[1:].tolist(), strict=False)
        ]
        for i, box in enumerate(self.all[: self.n]):
            # Twins that are alive at no time may share their bytes: an order between them would be a restriction.
            if instance.pin[i] >= 0 or self.neighbours(i) or not lifetimes[i]:
                continue
            traffic = int(instance.traffic[i]) if instance.objective == "cost" else 0
            kind = (box.size, tuple(box.span.items()), tuple(box.step.items()), lifetimes[i], traffic)
            if kind in last:
                yield last[kind], i
            last[kind] = i

    def mirror(self) -> tuple[int, int] | None:
        """Return a pair of buffers of which the first may be taken to lie below the second, or None.

        Turning a plan upside down makes another one of the same peak: in a single memory where nothing is pinned or
        reserved, no offset is shifted and no room wasted. Exchanging twins could undo the choice, so neither has one.
        """
        buffers = self.all[: self.n]
        fixed = len(self.all) > self.n or bool((self.instance.pin >= 0).any())
        coarse = any(box.waste or max(box.step.values(), default=1) > self.grid.granule for box in buffers)
        if len(self.limit) != 1 or fixed or coarse or self.grid.shift != (0,):
            return None
        twins = {i for pair in self.twins() for i in pair}
        free = [(a, b) for a, b in self.pairs if a not in twins and b not in twins]
        return max(free, key=lambda pair: buffers[pair[0]].size + buffers[pair[1]].size, default=None)
