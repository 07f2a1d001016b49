"""The boxes of the integer program: its buffers and reserved ranges on a grid of offsets, and their conflicts.

All numbers are exact integers, in units. In each pool, all offsets are a shift plus multiples of a granule. So each box
occupies its extent, which is its size rounded up to whole granules.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from math import gcd

from memplan.planner.bounds.cliques import heavy_clique
from memplan.planner.instance.instance import ON_OFFSETS, Instance
from memplan.solvers.formulation.offset_ranges import Span, spans
from memplan.solvers.formulation.pair_rules import pair_clearances, pairs_of
from memplan.solvers.formulation.sharing import Sharing
from memplan.solvers.formulation.subinstance import identical


def round_up(value: int, step: int) -> int:
    """Return the least multiple of `step` that is at least `value`."""
    return -(-value // step) * step


@dataclass(frozen=True)
class Grid:
    """The grid of offsets: every offset in pool `q` is shift[q] plus a multiple of `granule`."""

    granule: int
    shift: tuple[int, ...]

    @classmethod
    def from_instance(cls, instance: Instance) -> "Grid":
        """Return the coarsest grid that contains all possible offsets and all borders of pages and banks."""
        granule, shift = 0, []
        for q, pool in enumerate(instance.pools):
            mine = instance.allowed[q]
            lowest = instance.lowest[q, mine].tolist()
            shift.append(min(lowest, default=0))
            granule = gcd(granule, *instance.alignment[q, mine].tolist(), *(value - shift[q] for value in lowest))
            borders = [
                (pool.bank, pool.bank_shift),
                *zip(instance.page[q, mine].tolist(), instance.page_shift[q, mine].tolist(), strict=True),
            ]
            granule = gcd(
                granule, *(value for length, start in borders if length for value in (length, start + shift[q]))
            )
        return cls(granule or 1, tuple(value % (granule or 1) for value in shift))

    def ceil(self, q: int, offset: int) -> int:
        """Return the lowest grid offset of pool `q` that is at least `offset`."""
        return self.shift[q] + max(0, round_up(offset - self.shift[q], self.granule))


@dataclass(frozen=True, eq=False)
class Box:
    """A buffer, or a reserved range that is treated as a box with a fixed offset.

    `extent` is the size rounded up to the grid. `span[q]` is the (lowest, highest) offset in each pool `q` that the box
    may use; its offsets there are the lowest one plus multiples of `step[q]`. A reserved range need not start on the
    grid: it starts `early` units below the grid offset from which its extent counts.
    """

    size: int
    extent: int
    span: dict[int, Span]
    step: dict[int, int]
    early: int = 0

    @property
    def waste(self) -> int:
        """The units of the extent (the size rounded up to the grid) that the box does not use."""
        return self.extent - self.size

    @property
    def min_offset(self) -> int:
        """The lowest offset of the box in any of its pools, in units; 0 if it has no pool."""
        return min((low for low, _ in self.span.values()), default=0)

    @property
    def max_offset(self) -> int:
        """The highest offset of the box in any of its pools, in units; 0 if it has no pool."""
        return max((high for _, high in self.span.values()), default=0)


@dataclass(frozen=True, eq=False)
class Boxes:
    """The boxes of an instance whose pools end at or below `limit` (units per pool): buffers, then reserved ranges."""

    instance: Instance
    limit: tuple[int, ...]

    @property
    def n(self) -> int:
        """The number of buffers, which are the first boxes."""
        return len(self.instance)

    @cached_property
    def grid(self) -> Grid:
        """The coarsest grid that contains all possible offsets."""
        return Grid.from_instance(self.instance)

    @cached_property
    def all(self) -> list[Box]:
        """All boxes: the buffers in the instance's order, then the reserved ranges."""
        ranges = enumerate(pool.reserved.tolist() for pool in self.instance.pools)
        reserved = [
            self._reserved_box(q, low, high)
            for q, rows in ranges
            for low, high in rows
            if low < self.limit[q] and high > self.grid.shift[q]
        ]
        homes = spans(self.instance, self.limit)
        return [self._buffer_box(i, homes[i]) for i in range(self.n)] + reserved

    def _buffer_box(self, i: int, span: dict[int, Span]) -> Box:
        size = int(self.instance.size[i])
        steps = {q: int(self.instance.alignment[q, i]) for q in span}
        return Box(size, round_up(size, self.grid.granule), span, steps)

    def _reserved_box(self, q: int, low: int, high: int) -> Box:
        # Boxes above a reserved range start on the grid, so rounding the range's end up to the grid excludes no plan.
        start, end = self.grid.ceil(q, low), self.grid.ceil(q, high)
        return Box(end - low, end - start, {q: (low, low)}, {q: 1}, start - low)

    def barred_ranges(self, q: int, b: int) -> list[tuple[int, int]]:
        """Return the offset ranges (start, end) barred to buffer `b` in pool `q` that overlap its span there."""
        low, high = self.all[b].span[q]
        return [(start, end) for start, end in self.instance.barred_to(b, q) if start <= high and end > low]

    @cached_property
    def live_sets(self) -> list[list[int]]:
        """The maximal live sets, each as an ascending list of buffers."""
        return [self.instance.live_set_members(t).tolist() for t in range(self.instance.n_live_sets)]

    @cached_property
    def sharing(self) -> Sharing:
        """The pairs of buffers that may share bytes while both are alive."""
        return Sharing(self.instance)

    @cached_property
    def crowds(self) -> list[list[int]]:
        """The crowds (sets of buffers that share no byte): one per live set, and one of explicit conflicts."""
        named = [heavy_clique(self.instance).tolist()] if len(self.instance.conflict) else []
        return [self.sharing.disjoint_buffers(members) for members in (*self.live_sets, *named)]

    @cached_property
    def conflicts(self) -> set[tuple[int, int]]:
        """The conflicting pairs (a, b) with a < b, except pairs within a rigid group.

        Two buffers conflict if they are alive together, or by an explicit conflict or clearance.
        """
        pairs = {pair for members in self.live_sets for pair in combinations(members, 2)}
        pairs |= self.pair_clearances.keys()
        return {(a, b) for a, b in pairs if not self.sharing.are_views(a, b)}

    @cached_property
    def bank_partners(self) -> set[tuple[int, int]]:
        """The pairs (a, b) with a < b of buffers that must not touch a common bank."""
        return set(pairs_of(self.instance.bank_first, self.instance.bank_with))

    @cached_property
    def pair_clearances(self) -> dict[tuple[int, int], int]:
        """The clearance, in units, of each pair (a, b) with a < b; clearances hold whatever the lifetimes."""
        return pair_clearances(self.instance)

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs (a, b) of boxes, a < b, for which the integer program decides which is lower in some pool."""
        pairs = self.conflicts | self.bank_partners
        pairs |= {(i, j) for j in range(self.n, len(self.all)) for i in range(self.n)}
        return sorted(pair for pair in pairs if self.ordered_in(*pair))

    def common_pools(self, a: int, b: int) -> list[int]:
        """Return the pools that both boxes may use."""
        return [q for q in self.all[a].span if q in self.all[b].span]

    def ordered_in(self, a: int, b: int) -> list[int]:
        """Return the pools in which two boxes must not overlap, so that one of them must be below the other."""
        if (a, b) in self.conflicts or b >= self.n:
            return self.common_pools(a, b)
        return self.banked_pools(a, b)

    def banked_pools(self, a: int, b: int) -> list[int]:
        """Return the pools with banks that both boxes may use."""
        return [q for q in self.common_pools(a, b) if self.instance.pools[q].bank]

    def shared_in(self, a: int, b: int) -> list[int]:
        """Return the pools in which two buffers, alive together, may have the same offset and so share bytes."""
        if b >= self.n or b not in self.sharing.partners[a] or (a, b) in self.pair_clearances:
            return []
        must_part = self.banked_pools(a, b) if (a, b) in self.bank_partners else []
        return [q for q in self.common_pools(a, b) if q not in must_part]

    def may_lie_below(self, a: int, b: int) -> bool:
        """Return True if box `a` may be below box `b` in a pool that both may use."""
        first, second, distance = self.all[a], self.all[b], self.distance(a, b)
        return any(first.span[q][0] + distance <= second.span[q][1] for q in self.common_pools(a, b))

    def distance(self, a: int, b: int) -> int:
        """Return the least difference of the offsets of two boxes, in units, if box `a` is below box `b`."""
        if max(a, b) >= self.n:
            return self.all[a].size
        free = self.pair_clearances.get((min(a, b), max(a, b)), 0)
        return round_up(self.all[a].size + free, self.grid.granule) if free else self.all[a].extent

    def twins(self) -> Iterator[tuple[int, int]]:
        """Yield the pairs of successive buffers in each ascending group of interchangeable buffers."""
        for alike in identical(self.instance):
            yield from pairwise(alike)

    def mirror(self) -> tuple[int, int] | None:
        """Return a pair of buffers whose order may be fixed, because each plan has a mirror image; or None.

        In a single pool, a plan turned upside down has the same peak if no buffer is pinned or limited in offset, no
        range is reserved, no offset is shifted, no extent is wasted, and no constraint concerns offsets. The pair
        contains no interchangeable buffers, because their order is fixed already.
        """
        # A mirrored plan may violate rules on pages, banks and distances, so these rules exclude mirroring.
        if self.instance.features & ON_OFFSETS:
            return None
        buffers = self.all[: self.n]
        fixed = len(self.all) > self.n or not self.instance.features.isdisjoint({"pins", "ranges"})
        coarse = any(box.waste or max(box.step.values(), default=1) > self.grid.granule for box in buffers)
        if len(self.limit) != 1 or fixed or coarse or self.grid.shift != (0,):
            return None
        twins = {i for pair in self.twins() for i in pair}
        # Another rule fixes the order of interchangeable buffers and may contradict this one, so skip such buffers.
        free = [(a, b) for a, b in self.pairs if a not in twins and b not in twins]
        # Fixing the order of the largest pair leaves the fewest decisions, so choose that pair.
        return max(free, key=lambda pair: buffers[pair[0]].size + buffers[pair[1]].size, default=None)
