"""Stacking orders, which place each buffer on earlier ones, and orders that are optimal for any sizes.

An order is optimal for any sizes if the conflict graph has a transitive orientation. Then all buffers of a chain are
alive together, so each peak is the sum of a live set. Golumbic's algorithm finds the orientation: direct one edge and
all edges that it forces, remove them, and repeat (Algorithmic Graph Theory, 5.6).
"""

from collections.abc import Iterator, Sequence
from graphlib import TopologicalSorter

import numpy as np
from numpy.typing import NDArray

from memplan.programs.symbols.sized import CompiledSizes, Rows

Order = tuple[int, ...]
"""The type of a stacking order: the positions of buffers in the order in which they are placed."""


def buffers_below(sized: CompiledSizes, order: Sequence[int]) -> list[tuple[int, ...]]:
    """Return, for each buffer, the buffers directly below: in each of its live sets, the topmost earlier buffer."""
    tops = np.full(sized.live_sets, -1, np.int64)
    below_: list[tuple[int, ...]] = [()] * sized.count
    for buffer in order:
        alive = sized.sets_of(buffer)
        below_[buffer] = tuple(sorted({*tops[alive].tolist()} - {-1}))
        tops[alive] = buffer
    return below_


def peaks_of_order(sized: CompiledSizes, order: Order, sizes: Rows, least: Rows) -> NDArray[np.int64]:
    """Return the peak, in bytes, of a stacking order at each sampled value of the symbols."""
    tops, ends = np.zeros((sized.live_sets, sizes.shape[1]), np.int64), np.zeros(sizes.shape[1], np.int64)
    for buffer in order:
        alive = sized.sets_of(buffer)
        end = np.maximum(tops[alive].max(axis=0, initial=0), least[buffer]) + sizes[buffer]
        tops[alive] = end
        ends = np.maximum(ends, end)
    return ends


def order_with_pins_first(sized: CompiledSizes, order: Order, sizes: Rows, least: Rows) -> Order:
    """Return the order with its pinned buffers moved to the front, in ascending order of their offsets."""
    ends = least + sizes
    pinned = sorted((buffer for buffer, _ in sized.pins), key=lambda b: (least[b].tolist(), ends[b].tolist()))
    return (*pinned, *(buffer for buffer in order if buffer not in pinned))


def order_respecting_pins(sized: CompiledSizes, order: Order, sizes: Rows, least: Rows) -> Order:
    """Return an order in which each pinned buffer comes before every buffer that might end above its offset."""
    pinned = order_with_pins_first(sized, (), sizes, least)
    tops = np.zeros((sized.live_sets, sizes.shape[1]), np.int64)
    offsets: list[int] = []
    work = list(order[::-1])
    while work:
        buffer = work[-1]
        alive = sized.sets_of(buffer)
        end = np.maximum(tops[alive].max(axis=0, initial=0), least[buffer]) + sizes[buffer]
        cut = [
            each for each in pinned if each not in offsets and sized.meets[buffer, each] and (end > least[each]).any()
        ]
        if buffer not in offsets and buffer not in pinned and cut:
            work.append(cut[0])
            continue
        work.pop()
        if buffer not in offsets:
            tops[alive] = end
            offsets.append(buffer)
    return tuple(offsets)


def order_of(sized: CompiledSizes, offsets: NDArray[np.int64]) -> Order:
    """Return the buffers of a plan by ascending offset; ties are broken by first live set, then by position."""
    first = np.append(sized.sets, 0)[sized.first[:-1]]
    return tuple(np.lexsort((np.arange(sized.count), first, offsets)).tolist())


def first_fit(
    sized: CompiledSizes, ranks: NDArray[np.float64], sizes: NDArray[np.int64], least: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return first-fit offsets at one symbol value: buffers by ascending `ranks`, each in the lowest sufficient gap."""
    offsets = least.copy()
    is_placed = np.zeros(sized.count, bool)
    is_placed[[buffer for buffer, _ in sized.pins]] = True
    for buffer in np.argsort(ranks, kind="stable").tolist():
        if is_placed[buffer]:
            continue
        met = np.flatnonzero(sized.meets[buffer] & is_placed)
        begins = offsets[met]
        by_offset = np.argsort(begins, kind="stable")
        begins, ends = begins[by_offset], np.maximum.accumulate(np.append(0, (begins + sizes[met])[by_offset]))
        gaps = np.append(begins, np.iinfo(np.int64).max) - ends
        offsets[buffer] = ends[int(np.argmax(gaps >= sizes[buffer]))]
        is_placed[buffer] = True
    return offsets


MOST_STEPS = 20_000_000
"""The maximum number of implications to follow, about 10 s; a graph that needs more counts as without orientation."""
Edge = tuple[int, int]


def order_for_any_sizes(sized: CompiledSizes) -> Order | None:
    """Return an order that is optimal for any sizes of buffers; None if there is none or the search takes too long."""
    together: dict[tuple[int, ...], list[int]] = {}
    for buffer in range(sized.count):
        together.setdefault(tuple(sized.sets_of(buffer).tolist()), []).append(buffer)
    different = sorted(together)
    if sized.pins or len(different) ** 2 > MOST_STEPS:
        return None
    first = [together[each][0] for each in different]
    beneath = _transitive_orientation([{*np.flatnonzero(row).tolist()} for row in sized.meets[np.ix_(first, first)]])
    if beneath is None:
        return None
    sorter = TopologicalSorter({i: sorted(beneath[i]) for i in range(len(different))})
    return tuple(buffer for i in sorter.static_order() for buffer in together[different[i]])


def _transitive_orientation(left: list[set[int]]) -> list[set[int]] | None:
    """Return each vertex's predecessors in a transitive orientation of the graph `left`; None if none is found."""
    beneath: list[set[int]] = [set() for _ in left]
    steps = 0
    for i in range(len(left)):
        while left[i]:
            forced: set[Edge] = {(i, min(left[i]))}
            work = list(forced)
            while work:
                edge = work.pop()
                for other in _forced_edges(edge, left):
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


def _forced_edges(edge: Edge, left: Sequence[set[int]]) -> Iterator[Edge]:
    """Yield the directed edges that `edge` forces in every transitive orientation of a graph.

    `left` has the neighbours of each node along edges that have no direction yet.
    """
    a, b = edge
    for c in left[a] - left[b]:
        if c != b:
            yield a, c
    for c in left[b] - left[a]:
        if c != a:
            yield c, b
