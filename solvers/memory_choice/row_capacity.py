"""The capacity of each pool in each row: in whole granules, without what is reserved.

All offsets in a pool are multiples of its granule. So buffers that are alive together lie in different granules, and
take as many as they touch; only the last granule of the topmost one may reach beyond where the pool ends.
"""

from __future__ import annotations

import numpy as np

from memplan.planner.instance.instance import CompiledPool, Instance
from memplan.planner.model.buffer_table import I64

_MOST_KINDS = 64
"""The most kinds of waste that are distinguished from row to row."""


class RowCapacity:
    """The capacities of a pool in each row, in units; `lives` has (lifetime_buffer, start, end) in rows.

    A buffer takes `size[i]`, `most` is what all of them take together.
    """

    def __init__(self, instance: Instance, q: int, lives: tuple[I64, I64, I64], rows: int) -> None:
        here = instance.allowed[q]
        step = int(np.gcd.reduce(instance.alignment[q, here], initial=0)) or 1
        self.granule = step if not (instance.lowest[q, here] % step).any() else 1
        self.size: I64 = -(-instance.size // self.granule) * self.granule
        self.most = int(self.size[here].sum())
        self.reserved = _widened(instance.pools[q], self.granule)
        self.waste = _waste(np.where(here, self.size - instance.size, 0), lives, rows)
        self.widest_waste = int(self.waste.max(initial=0))
        last = self.reserved[-1][1] if self.reserved else 0
        self.horizon = last + self.most + self.granule

    def below(self, end: int) -> I64:
        """Return how much can lie in each row where the pool ends there, no more than there is to put there."""
        # The last granule may reach beyond the end by what its buffer wastes.
        ends = (min(end, self.horizon) + self.waste) // self.granule * self.granule
        free = ends.copy()
        for low, high in self.reserved:
            free -= np.clip(ends, low, high) - low
        return np.minimum(self.most, free)

    def reach(self, load: I64) -> int:
        """Return the least end of the pool at which it holds so much in each row."""
        return int((self._ends(load) - np.where(load > 0, self.waste, 0)).max(initial=0))

    def least_reach(self, load: int) -> int:
        """Return an end that the pool must have to hold so much at a time, in whatever row."""
        return int(self._ends(np.array([load]))[0]) - self.widest_waste if load > 0 else 0

    def _ends(self, load: I64) -> I64:
        ends = load.copy()
        for low, high in self.reserved:
            ends += np.where(low < ends, high - low, 0)
        return ends


def _widened(pool: CompiledPool, granule: int) -> list[tuple[int, int]]:
    """Return the reserved ranges, to the ends of their granules: whatever begins in one of these begins after it."""
    rows = pool.reserved.tolist()
    return [(-(-low // granule) * granule, -(-high // granule) * granule) for low, high in rows]


def _waste(waste: I64, lives: tuple[I64, I64, I64], rows: int) -> I64:
    """Return by how much the last granule of a buffer may reach beyond it, at most, in each row."""
    lifetime_buffer, start, end = lives
    kinds = np.unique(waste[waste > 0])
    # The largest waste everywhere is right as well, only weaker.
    if len(kinds) > _MOST_KINDS:
        return np.full(rows, int(kinds[-1]))
    found = np.zeros(rows, dtype=np.int64)
    for kind in kinds.tolist():
        mine = waste[lifetime_buffer] == kind
        change = np.zeros(rows + 1, dtype=np.int64)
        np.add.at(change, start[mine], 1)
        np.subtract.at(change, end[mine], 1)
        found[np.cumsum(change)[:-1] > 0] = kind
    return found
