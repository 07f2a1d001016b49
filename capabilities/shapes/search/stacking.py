"""Orders of stacking: what stands on what, and whether one is optimal whatever the sizes are.

That is so where the conflict graph has a transitive orientation: then all buffers of a chain of stacking are alive
together, so that each peak is the sum of a live set. The orientation is Golumbic's: the directions that one edge
forces, then without these edges again (Algorithmic Graph Theory, 5.6).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from graphlib import TopologicalSorter

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


MOST_STEPS = 20_000_000
"""The most implications that are followed, some 10 s; of a graph that needs more, no such order is known."""
Lives = Sequence[tuple[int, int]]
Edge = tuple[int, int]


def order_for_any_sizes(lives: Lives) -> tuple[int, ...] | None:
    """Return an order of buffers, given their first and last live sets, that is optimal for all sizes, or None."""
    together: dict[tuple[int, int], list[int]] = {}
    for buffer, life in enumerate(lives):
        together.setdefault((int(life[0]), int(life[1])), []).append(buffer)
    different = sorted(together)
    beneath = _orientation(different) if len(different) ** 2 <= MOST_STEPS else None
    if beneath is None:
        return None
    sorter = TopologicalSorter({i: sorted(beneath[i]) for i in range(len(different))})
    return tuple(buffer for i in sorter.static_order() for buffer in together[different[i]])


def _orientation(lives: Lives) -> list[set[int]] | None:
    """Return what lies beneath each, in a transitive orientation of the conflicts, or None where there is none."""
    left = [_meeting(lives, i) for i in range(len(lives))]
    beneath: list[set[int]] = [set() for _ in lives]
    steps = 0
    for i in range(len(lives)):
        while left[i]:
            forced: set[Edge] = {(i, min(left[i]))}
            work = list(forced)
            while work:
                edge = work.pop()
                for other in _forced_by(edge, left):
                    steps += 1
                    if other[::-1] in forced:
                        return None
                    if other not in forced:
                        forced.add(other)
                        work.append(other)
                if steps > MOST_STEPS:
                    return None
            for a, b in forced:
                beneath[b].add(a)
                left[a].discard(b)
                left[b].discard(a)
    return beneath


def _meeting(lives: Lives, i: int) -> set[int]:
    first, last = lives[i]
    return {j for j, (begin, end) in enumerate(lives) if j != i and begin < last and first < end}


def _forced_by(edge: Edge, left: Sequence[set[int]]) -> Iterator[Edge]:
    a, b = edge
    for c in left[a] - left[b]:
        if c != b:
            yield a, c
    for c in left[b] - left[a]:
        if c != a:
            yield c, b
