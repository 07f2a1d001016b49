"""Orders of stacking: what stands on what."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memplan.planner.symbols.problem import Rows, Sized

Order = tuple[int, ...]
"""Positions of buffers, from the first that is placed."""


def below(sized: Sized, order: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the buffers that each of an order stands on: the topmost of each live set that it belongs to."""
    tops = [-1] * sized.live_sets
    found: list[tuple[int, ...]] = [()] * sized.count
    for buffer in order:
        alive = range(sized.first[buffer], sized.last[buffer])
        found[buffer] = tuple(sorted({tops[at] for at in alive} - {-1}))
        for at in alive:
            tops[at] = buffer
    return found


def peaks(sized: Sized, order: Order, sizes: Rows) -> NDArray[np.int64]:
    """Return the largest end of an order at each point."""
    tops, found = np.zeros((sized.live_sets, sizes.shape[1]), np.int64), np.zeros(sizes.shape[1], np.int64)
    for buffer in order:
        alive = tops[sized.first[buffer] : sized.last[buffer]]
        alive[:] = end = alive.max(axis=0, initial=0) + sizes[buffer]
        found = np.maximum(found, end)
    return found


def order_of(sized: Sized, offsets: NDArray[np.int64]) -> Order:
    """Return the order of a plan: by offsets; of equal ones, the earlier first, so that it is the same everywhere."""
    return tuple(np.lexsort((np.arange(sized.count), sized.first, offsets)).tolist())


def first_fit(sized: Sized, ranks: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return offsets at one value: buffers in the order of `ranks`, each at the lowest gap that holds it."""
    offsets = np.zeros(sized.count, np.int64)
    placed: list[int] = []
    for buffer in np.argsort(ranks, kind="stable").tolist():
        at = np.array(placed, np.int64)
        met = at[(sized.first[at] < sized.last[buffer]) & (sized.first[buffer] < sized.last[at])]
        begins = offsets[met]
        by_offset = np.argsort(begins, kind="stable")
        begins, ends = begins[by_offset], np.maximum.accumulate(np.append(0, (begins + sizes[met])[by_offset]))
        gaps = np.append(begins, np.iinfo(np.int64).max) - ends
        offsets[buffer] = ends[int(np.argmax(gaps >= sizes[buffer]))]
        placed.append(buffer)
    return offsets
