"""Is one order optimal whatever the sizes are? Yes where the conflict graph has a transitive orientation.

Then all buffers of a chain of stacking are alive together, so that each peak is the sum of a live set. The orientation
is Golumbic's: the directions that one edge forces, then without these edges again (Algorithmic Graph Theory, 5.6).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from graphlib import TopologicalSorter

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
