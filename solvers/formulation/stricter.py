"""Instances with fewer kinds of rules, whose plans are plans of another instance."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import islice
from math import gcd, lcm
from typing import Any

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import ABSENT, I64, column

_MOST_STARTS = 10_000
"""The most offsets that are tried for a buffer or a rigid group within pages."""
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


def without_pages_and_prices(instance: Instance) -> Instance:
    """Return an instance without pages, sharing and priced pairs; its plans are plans of `instance` and may pay prices.

    A buffer with a page gets an alignment that divides the page and is at least its size. Buffers that may share bytes
    do not.
    """
    changed = dict[str, Any]()
    if "sharing" in instance.features:
        changed |= {"share_first": np.zeros_like(instance.share_first), "share": instance.share[:0]}
    if len(instance.priced_pairs):
        changed |= {
            name: getattr(instance, name)[:0] for name in ("soft_pairs", "soft_weight", "reuse_pairs", "reuse_price")
        }
    if "pages" in instance.features:
        changed |= _alignments_for_pages(instance)
    return replace(instance, **changed) if changed else instance


def without_offset_rules(instance: Instance) -> Instance:
    """Return an instance without pages, banks, clearances, barred ranges and prices; it has all plans of `instance`."""
    names = ("bank_with", "soft_pairs", "soft_weight", "clear_pairs", "clearance", "reuse_pairs", "reuse_price")
    if instance.features.isdisjoint({"pages", "intervals", "banks", "bank-weights", "reuse", "clearances"}):
        return instance
    none = np.zeros_like(instance.page)
    changed = {name: getattr(instance, name)[:0] for name in names}
    changed |= {"bank_first": np.zeros_like(instance.bank_first), "page": none, "page_shift": none}
    return replace(instance, barred=np.full_like(instance.barred, ABSENT), barred_ranges=(), **changed)


def _alignments_for_pages(instance: Instance) -> dict[str, Any]:
    alignment, lowest, allowed = instance.alignment.copy(), instance.lowest.copy(), instance.allowed.copy()
    groups: dict[int, list[int]] = defaultdict(list)
    for i, anchor in enumerate(instance.anchor.tolist()):
        groups[anchor].append(i)
    for members in groups.values():
        for q in range(len(alignment)):
            paged = [i for i in members if instance.page[q, i] and instance.pin[i] < 0]
            if not paged or not allowed[q, members[0]]:
                continue
            period, first = _first_within_pages(instance, q, members, paged)
            for i in members:
                allowed[q, i] = first is not None
                if first is not None:
                    alignment[q, i], lowest[q, i] = period, first + int(instance.distance[i])
    none = np.zeros_like(instance.page)
    return {"alignment": alignment, "lowest": lowest, "allowed": allowed, "page": none, "page_shift": none}


def _first_within_pages(instance: Instance, q: int, members: list[int], paged: list[int]) -> tuple[int, int | None]:
    """Return (a period, the first offset of a rigid group's lowest member) so that no period later crosses a page.

    The offset is None if the group crosses a page at all offsets, or at all of the first _MOST_STARTS.
    """
    anchor = int(instance.anchor[members[0]])
    step, page, shift = (values[q].tolist() for values in (instance.alignment, instance.page, instance.page_shift))
    size, distance = instance.size.tolist(), instance.distance.tolist()
    period = step[anchor]
    for i in paged:
        parts = page[i] // size[i] if len(members) == 1 else 1
        while page[i] % parts:
            parts -= 1
        period = lcm(period, page[i] // parts)
    lowest = int(instance.lowest[q, anchor])
    for first in islice(range(lowest, lowest + period, step[anchor]), _MOST_STARTS):
        # Within a period that divides the page, all later offsets are at the same place of a part of a page.
        if all(
            (first + distance[i] + shift[i]) % gcd(period, page[i]) + size[i] <= gcd(period, page[i]) for i in paged
        ):
            return period, first
    return period, None


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
    """Return the ranges of offsets below `end` at which a buffer would cross the end of a page."""
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
