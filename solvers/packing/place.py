"""Placement of all buffers of an instance, pool by pool, in exact integers."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from memplan.planner.instance.instance import Bool, Instance
from memplan.planner.instance.objective import cost_mask, score
from memplan.planner.model.buffer_table import ABSENT, I64, column
from memplan.solvers.packing.packer import Packer
from memplan.solvers.packing.sharing_decisions import SharingDecisions, is_needed, share_pairs


class PoolPacker(Protocol):
    """A packer of one pool at a time, whatever its method."""

    def pack(self, q: int, order: I64, best_fit: bool = ..., /) -> I64:
        """Place the buffers of `order` in pool `q`, and return their offsets; ABSENT where one does not fit."""
        ...


def drop_buffers(instance: Instance, pool: I64, offset: npt.ArrayLike, flag: I64 | None = None) -> I64 | None:
    """Return exact offsets that replace raw ones; None if this fails.

    Buffers are moved down one by one in their pools. Raw offsets are in units and may be fractions. Pinned buffers get
    their pins. All other buffers, sorted by raw offset and then by position, get the lowest offset at which they
    overlap no earlier buffer. If some pairs may share an offset, or pay a price if they meet, a second attempt keeps
    the pairs together that share or meet in the raw offsets; the better result is returned. An attempt fails if a
    buffer does not fit or may not use its pool, or once flag[0] is 1.
    """
    raw = np.asarray(offset)
    is_colocated = np.array_equal(pool[instance.colocation], pool)
    if not is_colocated or not instance.allowed[pool, np.arange(len(instance))].all():
        return None
    flag = column([0]) if flag is None else flag
    candidates = [_drop_buffers(Packer(instance, flag), pool, raw)]
    if is_needed(instance):
        candidates.append(
            _drop_buffers(_sharing_decisions(instance, pool, raw.astype(np.float64)).packer(instance, flag), pool, raw)
        )
    return min(
        (each for each in candidates if each is not None), key=lambda each: score(instance, pool, each), default=None
    )


def _drop_buffers(packer: Packer, pool: I64, raw: npt.NDArray[np.generic]) -> I64 | None:
    """Return the offsets after moving the buffers of each pool down one after another; None if one does not fit."""
    instance = packer.instance
    order = np.lexsort((raw[instance.anchor], instance.pin < 0))
    dropped = np.full(len(instance), ABSENT)
    for q in range(len(instance.pools)):
        mine = order[pool[order] == q]
        dropped[mine] = packer.pack(q, mine)
    return None if (dropped == ABSENT).any() else column(dropped)


def _sharing_decisions(instance: Instance, pool: I64, raw: npt.NDArray[np.float64]) -> SharingDecisions:
    glued = []
    for i, j in share_pairs(instance):
        overlap = min(raw[i] + instance.size[i], raw[j] + instance.size[j]) - max(raw[i], raw[j])
        if pool[i] == pool[j] and 2 * overlap > min(instance.size[i], instance.size[j]):
            glued.append((i, j))
    # Buffers without a raw offset are marked by a very large number, so clamp all raw offsets to int64.
    is_paid = cost_mask(instance, pool, np.rint(np.minimum(raw, 2.0**62)).astype(np.int64))
    return SharingDecisions(tuple(glued), tuple(np.flatnonzero(~is_paid).tolist()))


def place(
    packer: PoolPacker, instance: Instance, order: I64, pools: tuple[int, ...], best_fit: bool = False
) -> tuple[I64, I64] | None:
    """Place each buffer, in `order`, in the first of `pools` where it fits; return (pool, offset) of each, or None.

    Pinned buffers come first, then buffers with a limit on their offset, lowest limit first. The result is None if a
    buffer fits in no pool. A buffer that does not fit into a pool has no effect there, so pools are filled one after
    another. If only a part of a colocation group (which must be in one pool) fits, the pool is packed again without
    this group. If there are several such groups, half of them are left out at a time.
    """
    pool, offset = np.zeros(len(instance), dtype=np.int64), np.full(len(instance), ABSENT)
    waiting = bounded_first(instance, order)
    for q in pools:
        mine = waiting[instance.allowed[q, waiting]]
        ends = packer.pack(q, mine, best_fit)
        while "together" in instance.features and (out := ends == ABSENT).any():
            if not (torn := _partial_group_mask(instance.colocation[mine], out)).any():
                break
            mine = mine[~torn]
            ends = packer.pack(q, mine, best_fit)
        pool[mine], offset[mine] = q, ends
        waiting = waiting[offset[waiting] == ABSENT]
        if len(waiting) == 0:
            return column(pool), column(offset)
    return None


def bounded_first(instance: Instance, order: I64) -> I64:
    """Return `order` with pinned buffers first, then buffers with a limit on their offset, lowest limit first.

    These buffers have few legal offsets, which earlier buffers could take.
    """
    if instance.features.isdisjoint({"pins", "ranges"}):
        return order
    highest = np.where(instance.pin < 0, instance.highest.max(axis=0, where=instance.allowed, initial=0), ABSENT)
    return order[np.argsort(highest[order], kind="stable")]


def _partial_group_mask(colocation: I64, is_left_out: Bool) -> Bool:
    """Return a mask of the buffers whose colocation group (which must be in one pool) was placed only in part.

    If there are several such groups, only the half of them that comes later is in the mask.
    """
    left_out = np.unique(colocation[is_left_out])
    torn = colocation[~is_left_out & np.isin(colocation, left_out)]
    if len(torn) == 0:
        return np.zeros(len(colocation), dtype=np.bool_)
    names, first = np.unique(torn, return_index=True)
    by_first = names[np.argsort(first, kind="stable")]
    is_torn: Bool = np.isin(colocation, by_first[len(by_first) // 2 :])
    return is_torn


def pins_collide(instance: Instance, packer: Packer) -> bool:
    """Return True if pinned buffers, each with only one allowed pool, overlap although they must not."""
    pinned = (instance.pin != ABSENT) & (instance.allowed.sum(axis=0) == 1)
    if pinned.sum() < 2:
        return False
    for q in range(len(instance.pools)):
        mine = np.flatnonzero(pinned & instance.allowed[q])
        if (packer.pack(q, mine) == ABSENT).any():
            return True
    return False
