"""Heavy sets of buffers that conflict pairwise, where explicit conflicts say more than live sets do."""

from __future__ import annotations

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64, column

_EDGES_AT_MOST = 400_000
"""The most conflicts that are looked at, each from both ends: about a tenth of a second."""


def heavy_clique(instance: Instance) -> I64:
    """Return buffers that conflict pairwise, as heavy a set of them as is found; ascending.

    Exact where the conflicts make a chordal graph, as those which come from lifetimes do; none where there are too many
    conflicts to look at. Goes through the buffers by maximum cardinality search (Tarjan and Yannakakis, SIAM Journal on
    Computing 13, 1984): in a chordal graph a buffer and its neighbours that come before it make a clique, and every
    maximal clique is one of these.
    """
    neighbours = _neighbours(instance)
    if neighbours is None:
        return column([])
    size = instance.size.tolist()
    best: list[int] = []
    best_size = 0
    before: set[int] = set()
    for i in _by_maximum_cardinality(neighbours):
        candidates = neighbours[i] & before
        before.add(i)
        if size[i] + sum(size[j] for j in candidates) <= best_size:
            continue
        clique = [i]
        for j in sorted(candidates, key=lambda j: (-size[j], j)):
            if j in candidates:
                clique.append(j)
                candidates &= neighbours[j]
        total = sum(size[j] for j in clique)
        if total > best_size:
            best, best_size = clique, total
    return column(sorted(best))


def _neighbours(instance: Instance) -> list[set[int]] | None:
    """Return what each buffer conflicts with: explicitly, and by lifetimes where those pairs are not too many."""
    if len(instance.conflict) > _EDGES_AT_MOST:
        return None
    neighbours: list[set[int]] = [
        set(instance.conflict[low:high].tolist())
        for low, high in zip(instance.conflict_first[:-1].tolist(), instance.conflict_first[1:].tolist(), strict=True)
    ]
    order = np.argsort(instance.start, kind="stable")
    start, end, lifetime_buffer = instance.start[order], instance.end[order], instance.lifetime_buffer[order].tolist()
    after = np.searchsorted(start, end).tolist()  # of the lifetimes that start later, those before it start in time
    if 2 * (sum(after) - sum(range(1, len(lifetime_buffer) + 1))) + len(instance.conflict) > _EDGES_AT_MOST:
        return neighbours
    for k, i in enumerate(lifetime_buffer):
        for j in lifetime_buffer[k + 1 : after[k]]:
            if i != j:
                neighbours[i].add(j)
                neighbours[j].add(i)
    return neighbours


def _by_maximum_cardinality(neighbours: list[set[int]]) -> list[int]:
    """Return the buffers in an order in which each next one has most neighbours among those before it."""
    count = [0] * len(neighbours)
    waiting: list[dict[int, None]] = [dict.fromkeys(range(len(neighbours)))]  # by that number of neighbours
    order: list[int] = []
    while waiting:
        if not waiting[-1]:
            waiting.pop()
            continue
        i, _ = waiting[-1].popitem()
        count[i] = -1
        order.append(i)
        for j in sorted(neighbours[i]):
            if count[j] >= 0:
                del waiting[count[j]][j]
                count[j] += 1
                if count[j] == len(waiting):
                    waiting.append({})
                waiting[count[j]][j] = None
    return order
