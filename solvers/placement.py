"""Place all buffers of an instance, memory by memory, in exact integers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from planner.instance import Instance
from planner.table import ABSENT, I64, column
from solvers.packers import Packer, QuickPacker


def drop(instance: Instance, pool: I64, offset: npt.ArrayLike) -> I64 | None:
    """Turn raw offsets (units, also fractions) into exact ones: buffers fall in their order, memories stay as given.

    Pinned buffers lie at their pins; each other one, by raw offset and then by position, at the lowest offset of its
    memory where it overlaps none before it. Returns None where a buffer does not fit or may not live in its memory.
    """
    n = len(instance)
    if not instance.allowed[pool, np.arange(n)].all():
        return None
    order = np.lexsort((np.asarray(offset), instance.pin < 0))
    dropped = np.full(n, ABSENT)
    packer = QuickPacker(instance, np.zeros(1, dtype=np.int64))
    for q in range(len(instance.memories)):
        mine = order[pool[order] == q]
        dropped[mine] = packer.pack(q, mine)
    return None if (dropped == ABSENT).any() else column(dropped)


def place(
    packer: Packer, instance: Instance, order: I64, memories: tuple[int, ...], best_fit: bool = False
) -> tuple[I64, I64] | None:
    """Place all buffers in `order`, each in the first of `memories` where it fits; pinned ones go before all others.

    Returns (memory, offset) of each buffer, or None where one fits nowhere. As what does not fit in a memory leaves no
    trace there, going through the memories outside and the buffers inside comes to the same.
    """
    pool, offset = np.zeros(len(instance), dtype=np.int64), np.full(len(instance), ABSENT)
    waiting = order[np.argsort(instance.pin[order] < 0, kind="stable")]
    for q in memories:
        mine = waiting[instance.allowed[q, waiting]]
        found = packer.pack(q, mine, best_fit)
        pool[mine], offset[mine] = q, found
        waiting = waiting[offset[waiting] == ABSENT]
        if len(waiting) == 0:
            return column(pool), column(offset)
    return None


def pins_collide(instance: Instance, packer: Packer) -> bool:
    """Say whether two pinned buffers overlap that may live in one and the same memory only."""
    pinned = (instance.pin != ABSENT) & (instance.allowed.sum(axis=0) == 1)
    if pinned.sum() < 2:
        return False
    for q in range(len(instance.memories)):
        mine = np.flatnonzero(pinned & instance.allowed[q])
        if (packer.pack(q, mine) == ABSENT).any():
            return True
    return False
