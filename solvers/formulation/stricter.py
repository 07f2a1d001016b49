"""Instances with fewer kinds of rules, whose plans are plans of another instance."""

from dataclasses import replace
from typing import Any

import numpy as np

from memplan.planner.instance.columns import Axis
from memplan.planner.instance.instance import I64_MAX, ON, Instance
from memplan.planner.model.buffer_table import ABSENT, I64, column

_MOST_PARTS = 16
"""The most pools of an instance after its pools are divided at reserved ranges."""
_MOST_PAGES = 1_000
"""The most pages below the capacity of a pool; beyond, lists of ranges would be long."""


def stricter(instance: Instance) -> tuple[Instance, bool]:
    """Return (an instance without pages and sharing, True if it has all plans of `instance`).

    Pages become ranges that the offsets must avoid, unless the pool has too many. Buffers that may share bytes do not.
    """
    if "pages" in instance.features:
        instance = _ranges_for_pages(instance)
    if "sharing" not in instance.features:
        return instance, True
    return replace(instance, share_first=np.zeros_like(instance.share_first), share=instance.share[:0]), False


def restrict_rules(instance: Instance, may_share: bool = False) -> Instance:
    """Return an instance without prices of pairs, which its plans may pay, and without sharing unless `may_share`."""
    if len(instance.priced_pairs):
        names = ("soft_pairs", "soft_weight", "reuse_pairs", "reuse_price")
        instance = replace(instance, **{name: getattr(instance, name)[:0] for name in names})
    if may_share or "sharing" not in instance.features:
        return instance
    return replace(instance, share_first=np.zeros_like(instance.share_first), share=instance.share[:0])


def split_pools(instance: Instance) -> tuple[Instance, I64]:
    """Return (an instance in which a reserved range separates two pools, the number of each pool in `instance`).

    Offsets stay as they are. Each plan is a plan of `instance`, and the reverse if no buffers must be in one pool. If
    the cost does not count, pools are not divided, as this would change what their ends are. Nor are they if rules hold
    between two parts of a pool: banks and clearances.
    """
    return _divide_pools(instance, [[0, *pool.reserved.ravel().tolist(), pool.capacity] for pool in instance.pools])


def cut_unlimited_pools(instance: Instance) -> tuple[Instance, I64]:
    """Return what `split_pools` does, but pools without a limit are cut where the last limit on a buffer's end is.

    Buffers with such a limit are below the cut, in a pool with a limit; above it, no offset matters for the cost.
    """
    is_bounded = instance.allowed & (instance.highest < I64_MAX)
    is_limited = np.array([[pool.is_limited] for pool in instance.pools])
    cuts = (instance.highest + instance.size).max(axis=1, where=is_bounded & ~is_limited, initial=0).tolist()
    ends = [[0, cut, cut, pool.capacity] for pool, cut in zip(instance.pools, cuts, strict=True)]
    divided, of = _divide_pools(instance, ends)
    if divided is instance or "together" in instance.features:
        return divided, of
    is_below = np.array([[pool.is_limited] for pool in divided.pools]) & ~is_limited[of]
    return replace(divided, allowed=divided.allowed & (is_bounded[of] | ~is_below)), of


def _divide_pools(instance: Instance, ends: list[list[int]]) -> tuple[Instance, I64]:
    ranges = ((q, *both) for q, each in enumerate(ends) for both in zip(each[::2], each[1::2], strict=True))
    parts = [(q, low, high) for q, low, high in ranges if low < high]
    is_apart = instance.features.isdisjoint({"banks", "clearances"})
    if instance.objective != "cost" or not is_apart or not len(instance.pools) < len(parts) <= _MOST_PARTS:
        return instance, np.arange(len(instance.pools))
    of = column([q for q, _, _ in parts])
    pools = tuple(
        instance.pools[q]._replace(
            capacity=high,
            is_limited=instance.pools[q].is_limited or high < instance.pools[q].capacity,
            reserved=_reserved_between(instance.pools[q].reserved, low, high),
        )
        for q, low, high in parts
    )
    changed: dict[str, Any] = {name: getattr(instance, name)[of] for name in ON[Axis.POOL_AND_BUFFER]}
    low, high = (column([part[k] for part in parts])[:, None] for k in (1, 2))
    first = np.maximum(changed["lowest"], low)
    allowed = changed["allowed"] & (first <= np.minimum(instance.highest[of], high - instance.size))
    # Buffers that must be in one pool need a part that all of them may use.
    common = np.ones_like(allowed)
    for here, each in zip(common, allowed, strict=True):
        np.logical_and.at(here, instance.colocation, each)
    changed["allowed"] = common[:, instance.colocation]
    return replace(instance, pools=pools, **changed), of


def _reserved_between(reserved: I64, low: int, high: int) -> I64:
    """Return the reserved ranges of a part of a pool: all bytes below `low`, and those between `low` and `high`."""
    kept = np.clip(reserved[(reserved[:, 1] > low) & (reserved[:, 0] < high)], low, high)
    return column(np.concatenate((np.array([[0, low]] if low else [], dtype=np.int64).reshape(-1, 2), kept)))


def relax_offset_rules(instance: Instance) -> Instance:
    """Return an instance without pages, banks, clearances, barred ranges and prices; it has all plans of `instance`."""
    names = ("bank_with", "soft_pairs", "soft_weight", "clear_pairs", "clearance", "reuse_pairs", "reuse_price")
    if instance.features.isdisjoint({"pages", "intervals", "banks", "bank-weights", "reuse", "clearances"}):
        return instance
    none = np.zeros_like(instance.page)
    changed = {name: getattr(instance, name)[:0] for name in names}
    changed |= {"bank_first": np.zeros_like(instance.bank_first), "page": none, "page_shift": none}
    return replace(instance, barred=np.full_like(instance.barred, ABSENT), barred_ranges=(), **changed)


def _ranges_for_pages(instance: Instance) -> Instance:
    page, shift, end = instance.page[0], instance.page_shift[0], instance.pools[0].capacity
    if end // int(page[page > 0].min()) > _MOST_PAGES:
        return instance
    barred, ranges = instance.barred.copy(), list(instance.barred_ranges)
    numbers: dict[tuple[int, int, int, int], int] = {}
    for i in np.flatnonzero(page).tolist():
        key = int(page[i]), int(shift[i]), int(instance.size[i]), int(barred[0, i])
        if key not in numbers:
            numbers[key] = len(ranges)
            ranges.append(_merged_ranges(_crossing_ranges(*key[:3], end), instance.barred_to(i, 0)))
        barred[0, i] = numbers[key]
    none = np.zeros_like(instance.page)
    return replace(instance, page=none, page_shift=none, barred=barred, barred_ranges=tuple(ranges))


def _crossing_ranges(page: int, shift: int, size: int, end: int) -> list[tuple[int, int]]:
    borders = range(page - shift, end + page, page)
    return [(max(0, border - size + 1), border) for border in borders if border > 0 and size > 1]


def _merged_ranges(ranges: list[tuple[int, int]], others: list[tuple[int, int]]) -> I64:
    merged: list[list[int]] = []
    for low, high in sorted([*ranges, *others]):
        if merged and low <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], high)
        else:
            merged.append([low, high])
    return column(np.array(merged, dtype=np.int64).reshape(-1, 2))
