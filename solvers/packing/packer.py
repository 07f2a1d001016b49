"""Packing of one pool of an instance in a given order, by a kernel of the core.

First fit chooses the lowest free offset; best fit chooses the lowest offset in the smallest gap. A buffer that does not
fit below the capacity gets ABSENT, and packing continues without it.
"""

from collections.abc import Iterable
from math import isqrt

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import ABSENT, I64, column
from memplan.solvers.core.pack import PackOrder, PackRules, pack
from memplan.solvers.core.tables import Reference
from memplan.solvers.formulation.pair_rules import PairRules
from memplan.solvers.packing.rigid_bodies import Bodies

_FLAT_ALIVE = 16_000
"""The limit of buffers that are alive at a time, on average, up to which a pack is flat (without a tree)."""


class Packer:
    """A packer of the pools of an instance, for use in one thread; setting flag[0] to 1 soon stops it.

    It places the two buffers of each `glued` pair, which may share bytes, at the same offset if possible.
    """

    def __init__(self, instance: Instance, flag: I64, glued: Iterable[tuple[int, int]] = ()) -> None:
        """Store the arguments; the rules of a pool are prepared at its first packing."""
        self.instance, self.flag, self.glued = instance, flag, tuple(glued)
        self._bodies: dict[int, Bodies] = {}
        self._rules: dict[int, Reference[PackRules]] = {}

    def pack(self, q: int, order: I64, best_fit: bool = False) -> I64:
        """Place the buffers of `order` in pool `q`, one after another, and return their offsets in the same order.

        A buffer that does not fit gets ABSENT. Of buffers at fixed distances, `order` must contain all or none. Memory
        use is linear in the number of buffers, because conflicting pairs are not listed.
        """
        if q not in self._rules:
            self._bodies[q] = Bodies(self.instance, q, self.glued)
            self._rules[q] = Reference(self._pack_rules(q))
        by_body, body_first = self._bodies[q].group(order)
        task = PackOrder(order[by_body], body_first, best_fit, self.flag, np.full(len(order), ABSENT))
        pack(self._rules[q], Reference(task))
        offsets = np.empty_like(task.offsets)
        offsets[by_body] = task.offsets
        return column(offsets)

    def _pack_rules(self, q: int) -> PackRules:
        """Return the rules of pool `q` as the table that the packing kernel reads."""
        instance, pool, bodies = self.instance, self.instance.pools[q], self._bodies[q]
        border_first, border = bodies.borders()
        pairs = PairRules.from_pool(instance, q)
        width, is_flat = block_width(instance)
        barred_first, barred = instance.barred_in(q)
        return PackRules(
            distance=bodies.distance,
            size=instance.size,
            first=instance.first,
            start=instance.start,
            end=instance.end,
            lowest=bodies.lowest,
            highest=bodies.highest,
            step=bodies.step,
            page=np.ascontiguousarray(instance.page[q]),
            page_shift=np.ascontiguousarray(instance.page_shift[q]),
            pair_first=pairs.first,
            pair=pairs.other,
            clearance=pairs.clearance,
            grid=pairs.grid,
            share_first=instance.share_first,
            share=instance.share,
            border_first=border_first,
            border=border,
            reserved=pool.reserved,
            barred_first=barred_first,
            barred=barred,
            capacity=pool.capacity,
            bank=pool.bank,
            bank_shift=pool.bank_shift,
            width=width,
            is_flat=is_flat,
        )


def block_width(instance: Instance) -> tuple[int, bool]:
    """Return the width, in live sets, of the packing kernel's blocks, and True if the packing needs no tree over them.

    A packing without a tree (flat) is faster if lifetimes are similar and blocks are about as long as them. It is
    slower if so many buffers are alive that one list of them costs more than a few lists of merged runs. With a tree,
    blocks are narrow, so that few lifetimes start or end in each.
    """
    life = instance.end - instance.start
    m, n_sets = len(life), max(1, instance.n_live_sets)
    mean = float(life.mean()) if m else 1.0
    ordered = np.sort(life)
    if m and mean < 2 * int(ordered[(m - 1) // 2] + ordered[m // 2]) and m * mean <= _FLAT_ALIVE * n_sets:
        return max(8, round(mean)), True
    return max(1, min(128, 256 * n_sets // max(1, m))), False


def packing_work(instance: Instance) -> int:
    """Return the estimated work of packing all buffers once, in units of Search.work_limit."""
    n, m = len(instance), len(instance.start)
    _, is_flat = block_width(instance)
    alive = int((instance.end - instance.start).sum()) // max(1, instance.n_live_sets)
    lists = isqrt(alive) if is_flat else 6
    return 1 + (n + m) * (6 + lists) // 16 + len(instance.conflict) // 64
