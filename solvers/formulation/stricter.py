"""Instances with fewer kinds of rules, whose plans are plans of another instance."""

from __future__ import annotations

from dataclasses import replace
from math import lcm
from typing import Any

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64, column

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
        changed |= {name: getattr(instance, name)[:0] for name in ("soft_pairs", "soft_weight", "reuse_pairs", "reuse_price")}
    if "pages" in instance.features:
        changed |= _alignments_for_pages(instance)
    return replace(instance, **changed) if changed else instance


def _alignments_for_pages(instance: Instance) -> dict[str, Any]:
    alignment, lowest, allowed = instance.alignment.copy(), instance.lowest.copy(), instance.allowed.copy()
    for q, i in zip(*np.nonzero(instance.page * instance.allowed), strict=True):
        page, step = int(instance.page[q, i]), int(alignment[q, i])
        parts = page // int(instance.size[i])
        while page % parts:
            parts -= 1
        both = lcm(page // parts, step)
        starts = range(int(lowest[q, i]), int(lowest[q, i]) + both, step)
        shift = int(instance.page_shift[q, i])
        first = next((o for o in starts if (o + shift) % (page // parts) == 0), None)
        if instance.pin[i] >= 0:
            continue
        allowed[q, i] = first is not None
        if first is not None:
            alignment[q, i], lowest[q, i] = both, first
    none = np.zeros_like(instance.page)
    return {"alignment": alignment, "lowest": lowest, "allowed": allowed, "page": none, "page_shift": none}


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
            ranges.append(_merged(_crossing(*key[:3], end), instance.barred_to(i, 0)))
        barred[0, i] = numbers[key]
    none = np.zeros_like(instance.page)
    return replace(instance, page=none, page_shift=none, barred=barred, barred_ranges=tuple(ranges))


def _crossing(page: int, shift: int, size: int, end: int) -> list[tuple[int, int]]:
    """Return the ranges of offsets below `end` at which a buffer would cross the end of a page."""
    borders = range(page - shift, end + page, page)
    return [(max(0, border - size + 1), border) for border in borders if border > 0 and size > 1]


def _merged(ranges: list[tuple[int, int]], others: list[tuple[int, int]]) -> I64:
    merged: list[list[int]] = []
    for low, high in sorted([*ranges, *others]):
        if merged and low <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], high)
        else:
            merged.append([low, high])
    return column(np.array(merged, dtype=np.int64).reshape(-1, 2))
