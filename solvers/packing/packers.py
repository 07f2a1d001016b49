"""Pack one pool of an instance in a given order: in plain Python, or compiled. Both give the same offsets.

First fit takes the lowest offset that is free, best fit the lowest of those in the smallest gap. A buffer that does not
fit below the capacity gets ABSENT, and the others go on without it.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from math import isqrt
from typing import Protocol

from memplan.planner.instance.instance import I64_MAX, Instance
from memplan.planner.model.buffer_table import ABSENT, I64, column
from memplan.solvers.kernels.packing.pack import pack
from memplan.solvers.packing.compiled import CompiledPacker, blocks
from memplan.solvers.packing.conflict_masks import ConflictMasks
from memplan.solvers.packing.constrained import ConstrainedPacker
from memplan.solvers.packing.rigid_bodies import CONSTRAINTS, steps

_PLAIN_STEPS = 2_000_000
"""The most looks at placed buffers that plain Python may take, about 0.1 s, as long as loading the compiled packer."""
_FEW = 16
"""Up to so many buffers, plain Python takes less than laying out the tables of the compiled packer."""
_PLAIN_BUFFERS = 2_000
"""For more buffers, lifetimes or reserved ranges than that, plain Python is not quicker."""
_CONSTRAINED_TOLL = 2
"""Plain Python takes as long for so many plain buffers as for one where there are constraints."""


class Packer(Protocol):
    """Packs pools of one instance."""

    def pack(self, q: int, order: I64, best_fit: bool = False) -> I64:
        """Place the buffers of `order` one after the other in pool `q`; return their offsets, in that order."""


class PlainPacker:
    """Packs in plain Python, which starts at once; its cost grows with the square of the number of buffers.

    A `flag` that turns 1 stops it soon.
    """

    def __init__(self, instance: Instance, flag: I64 | None = None) -> None:
        self.instance = instance
        self.flag = column([0]) if flag is None else flag
        self.size = instance.size.tolist()
        self.masks = ConflictMasks(instance)

    def pack(self, q: int, order: I64, best_fit: bool = False) -> I64:
        """Place the buffers of `order` in pool `q`. O(buffers^2)."""
        pool = self.instance.pools[q]
        lowest, step = (values.tolist() for values in steps(self.instance, q))
        placed = [(low, high, *self.masks.always, self.masks.reserved) for low, high in pool.reserved.tolist()]
        offsets = []
        for i in order.tolist():
            if self.flag[0] != 0:
                break
            size, asks, least = self.size[i], self.masks.asks[i], lowest[i]
            since, until = self.masks.spans[i]
            at, best, tightest = least, ABSENT, I64_MAX
            for low, high, start, end, shows in placed:
                if high <= at or end <= since or start >= until or not asks & shows:
                    continue
                if low >= at + size and low - at < tightest:
                    best, tightest = at, low - at
                    if not best_fit:
                        break
                at = high + (least - high) % step[i]
            else:
                if at <= pool.capacity - size and (best == ABSENT or I64_MAX - at < tightest):
                    best = at
            offsets.append(best)
            if best != ABSENT:
                insort(placed, (best, best + size, since, until, self.masks.shows[i]))
        return column(offsets + [ABSENT] * (len(order) - len(offsets)))


class QuickPacker:
    """Packs in plain Python as long as that is quicker than loading the compiled packer.

    The `glued` pairs, of buffers that may share, have one offset wherever they can.
    """

    def __init__(self, instance: Instance, flag: I64, glued: Iterable[tuple[int, int]] = ()) -> None:
        self.instance, self.flag, self.glued = instance, flag, tuple(glued)
        self._reserved = max(len(pool.reserved) for pool in instance.pools)
        self._toll = _CONSTRAINED_TOLL if instance.features & CONSTRAINTS else 1
        self._bulk = self._toll * max(len(instance), len(instance.start), self._reserved)
        self._steps_left = _PLAIN_STEPS if self._bulk <= _PLAIN_BUFFERS else 0
        self._packer: PlainPacker | ConstrainedPacker | CompiledPacker | None = None

    def pack(self, q: int, order: I64, best_fit: bool = False) -> I64:
        """Place the buffers of `order` in pool `q`. A rigid group is in `order` as a whole, or not at all."""
        return self._quickest(len(order)).pack(q, order, best_fit)

    def _quickest(self, n: int) -> Packer:
        if isinstance(self._packer, CompiledPacker):
            return self._packer
        is_large = self._bulk > _FEW
        if is_large and (pack.is_loaded or self._steps_left <= 0):
            self._packer = CompiledPacker(self.instance, self.flag, glued=self.glued)
        elif self._packer is None and self._toll > 1:
            self._packer = ConstrainedPacker(self.instance, self.flag, self.glued)
        elif self._packer is None:
            self._packer = PlainPacker(self.instance, self.flag)
        self._steps_left -= self._toll**2 * n * (n // 2 + self._reserved)
        return self._packer


def work(instance: Instance) -> int:
    """Estimate what packing all buffers once costs, in units of Search.work_limit; equal on every machine."""
    n, m = len(instance), len(instance.start)
    _, is_flat = blocks(instance)
    alive = int((instance.end - instance.start).sum()) // max(1, instance.n_live_sets)
    lists = isqrt(alive) if is_flat else 6
    return 1 + (n + m) * (6 + lists) // 16 + len(instance.conflict) // 64
