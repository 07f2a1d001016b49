"""The rules on two buffers of one pool, combined into a least distance between them. The rules hold for all lifetimes.

- An explicit conflict puts the upper buffer at or above the end of the lower one.
- A clearance adds free units between the two buffers.
- A bank rule moves the upper buffer up to the next border of banks.

So each rule is a number of free units together with a grid, one border of which must be between the buffers. If the
lower buffer moves up, the least offset of the upper one never falls, and packers rely on this. Pairs that may share an
offset have no such rule; the instance lists them in `share`.
"""

from dataclasses import dataclass

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64

Pair = tuple[int, int]
_FAR = 2**61
"""A clearance that is larger than any pool; sums with it fit into int64."""


@dataclass(frozen=True, eq=False)
class PairRules:
    """The rules of one pool: buffers `i` and other[k] must keep a distance, for each k in first[i]:first[i + 1].

    At least clearance[k] units stay free between the two buffers. If grid[k] is above 1, a border of that grid is also
    between them: an offset o with (o + shift) % grid[k] == 0.
    """

    first: I64
    other: I64
    clearance: I64
    grid: I64
    shift: int

    @classmethod
    def from_pool(cls, instance: Instance, q: int) -> "PairRules":
        """Return the pair rules of pool `q` of an instance."""
        pool, named = instance.pools[q], instance.clear_pairs
        lists = [(instance.conflict_first, instance.conflict, 1)]
        if pool.bank and len(instance.bank_with):
            lists.append((instance.bank_first, instance.bank_with, pool.bank))
        has_one_list = len(lists) == 1 or len(instance.conflict) == 0
        if has_one_list and len(named) == 0:  # A single list needs no merging, so avoid copying its conflicts.
            first, other, grid = lists[-1]
            clearance, grids = np.zeros_like(other), np.full_like(other, grid)
            return cls(first, other, clearance, grids, pool.bank_shift)
        free = np.minimum(instance.clearance, _FAR)
        sources = [
            (_listing_buffers(first), other, 0 * other, np.full_like(other, grid)) for first, other, grid in lists
        ]
        sources += [(i, j, free, np.ones_like(free)) for i, j in (named.T, named.T[::-1])]
        listing, other, clearance, grids = (np.concatenate(part) for part in zip(*sources, strict=True))
        order = np.argsort(listing, kind="stable")
        first = np.searchsorted(listing[order], np.arange(len(instance) + 1))
        return cls(first, other[order], clearance[order], grids[order], pool.bank_shift)

    def max_clearances(self) -> I64:
        """Return the largest number of units that a pair rule may keep free below each buffer, as an array (n,)."""
        free = np.zeros(len(self.first) - 1, dtype=np.int64)
        np.maximum.at(free, _listing_buffers(self.first), self.clearance + np.where(self.grid > 1, self.grid, 0))
        return free

    def clearance_of(self, i: int, j: int) -> int | None:
        """Return the clearance between two buffers in units, or None if no rule concerns this pair."""
        rows = range(int(self.first[i]), int(self.first[i + 1]))
        return max((int(self.clearance[k]) for k in rows if self.other[k] == j), default=None)


def pair_clearances(instance: Instance) -> dict[Pair, int]:
    """Return the clearance of each pair (i, j) with i < j, in units. Explicit conflicts have clearance 0."""
    clearances = zip(map(tuple, instance.clear_pairs.tolist()), instance.clearance.tolist(), strict=True)
    return dict.fromkeys(pairs_of(instance.conflict_first, instance.conflict), 0) | dict(clearances)


def clear_lists(instance: Instance) -> tuple[I64, I64, I64]:
    """Return (first, other, clearance): the partners of each buffer in pair rules, and the units to keep between them.

    The partners of buffer i are other[first[i]:first[i + 1]], in ascending order. Each pair is in the lists of both
    buffers. If there are only explicit conflicts, `clearance` is empty, as all are 0.
    """
    if len(instance.clear_pairs) == 0:
        return instance.conflict_first, instance.conflict, instance.clearance
    pairs = pair_clearances(instance)
    rows = np.array([(i, j, min(free, _FAR)) for (i, j), free in pairs.items()], dtype=np.int64)
    both = np.concatenate((rows, rows[:, [1, 0, 2]]))
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    first = np.searchsorted(both[:, 0], np.arange(len(instance) + 1))
    return first, np.ascontiguousarray(both[:, 1]), np.ascontiguousarray(both[:, 2])


def pairs_of(first: I64, other: I64) -> list[Pair]:
    """Return the pairs (i, j) with i < j in symmetric adjacency lists, in the order of the lists."""
    rows = zip(_listing_buffers(first).tolist(), other.tolist(), strict=True)
    return [(i, j) for i, j in rows if i < j]


def _listing_buffers(first: I64) -> I64:
    return np.repeat(np.arange(len(first) - 1), np.diff(first))
