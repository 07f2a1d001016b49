"""The search for heavy cliques of conflicting buffers, which can need more bytes than any live set."""

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import ABSENT, I64, column

_EDGES_AT_MOST = 400_000
"""The maximum number of examined conflicts, counted at both buffers; more would take over about 0.1 s."""

_JOINED_AT_MOST = 1_000
"""The maximum size of a clique whose clearances are summed; the verifier has the same limit."""


def heavy_clique(instance: Instance) -> I64:
    """Return the heaviest clique found: the positions, in ascending order, of buffers that conflict pairwise.

    The weight of a clique is the sum of its buffers' sizes and of the clearances between them. The result is exact for
    chordal conflict graphs, such as those of lifetimes. It is empty if there are too many conflicts to examine. The
    buffers are visited by maximum cardinality search (Tarjan and Yannakakis, SIAM Journal on Computing 13, 1984). In a
    chordal graph, each buffer forms a clique with its earlier neighbours, and every maximal clique arises in this way.
    """
    neighbours = _conflict_neighbours(instance)
    if neighbours is None:
        return column([])
    size = instance.size.tolist()
    free = np.zeros(len(instance), dtype=np.int64)
    for side in instance.clear_pairs.T:  # Both at once, numpy 2.4 reads values from beyond the array.
        np.maximum.at(free, side, instance.clearance)
    most = (instance.size + free).tolist()
    best: list[int] = []
    best_size = 0
    before: set[int] = set()
    for i in _maximum_cardinality_order(neighbours):
        candidates = neighbours[i] & before
        before.add(i)
        if most[i] + sum(most[j] for j in candidates) <= best_size:
            continue
        clique = [i]
        for j in sorted(candidates, key=lambda j: (-most[j], j)):
            if j in candidates:
                clique.append(j)
                candidates &= neighbours[j]
        total = sum(size[j] for j in clique) + (clearance_bytes(instance, column(clique)) if free.any() else 0)
        if total > best_size:
            best, best_size = clique, total
    return column(sorted(best))


def clearance_bytes(instance: Instance, clique: I64, step: int = 1) -> int:
    """Return a lower bound, in units, on the free space that clearances force between the buffers of a clique.

    Each clearance is rounded down to a multiple of `step`. If the buffers are sorted by offset, the clearance of each
    two successive buffers stays free. The sum of these clearances is therefore at least the weight of a minimum
    spanning tree (Prim, Bell System Technical Journal 36, 1957).
    """
    position = np.full(len(instance), ABSENT)
    position[clique] = np.arange(len(clique))
    pairs = position[instance.clear_pairs]
    is_inside = (pairs >= 0).all(axis=1)
    if not is_inside.any() or len(clique) > _JOINED_AT_MOST:
        return 0
    first, other = np.concatenate((pairs[is_inside], pairs[is_inside][:, ::-1])).T
    clearance = np.tile(instance.clearance[is_inside] // step * step, 2)
    total, waiting = 0, np.arange(1, len(clique))
    nearest = np.full(len(clique), np.iinfo(np.int64).max)
    at = 0
    while len(waiting):
        mine = np.zeros(len(clique), dtype=np.int64)
        mine[other[first == at]] = clearance[first == at]
        nearest = np.minimum(nearest, mine)
        k = int(nearest[waiting].argmin())
        at, waiting = int(waiting[k]), np.delete(waiting, k)
        total += int(nearest[at])
    return total


def _conflict_neighbours(instance: Instance) -> list[set[int]] | None:
    """Return, for each buffer, the set of buffers that conflict with it; None if there are too many conflicts.

    The result is None if the explicit conflicts and the pairs with clearances alone exceed the limit. If the limit is
    exceeded only with the conflicts of overlapping lifetimes, the sets omit the latter.
    """
    if len(instance.conflict) + 2 * len(instance.clear_pairs) > _EDGES_AT_MOST:
        return None
    neighbours: list[set[int]] = [
        set(instance.conflict[low:high].tolist())
        for low, high in zip(instance.conflict_first[:-1].tolist(), instance.conflict_first[1:].tolist(), strict=True)
    ]
    for i, j in instance.clear_pairs.tolist():
        neighbours[i].add(j)
        neighbours[j].add(i)
    order = np.argsort(instance.start, kind="stable")
    start, end, lifetime_buffer = instance.start[order], instance.end[order], instance.lifetime_buffer[order].tolist()
    # Lifetime k overlaps the lifetimes k + 1 .. after[k] - 1, so the loop below needs no search.
    after = np.searchsorted(start, end).tolist()
    if 2 * (sum(after) - sum(range(1, len(lifetime_buffer) + 1))) + len(instance.conflict) > _EDGES_AT_MOST:
        return neighbours
    for k, i in enumerate(lifetime_buffer):
        for j in lifetime_buffer[k + 1 : after[k]]:
            if i != j:
                neighbours[i].add(j)
                neighbours[j].add(i)
    return neighbours


def _maximum_cardinality_order(neighbours: list[set[int]]) -> list[int]:
    """Return all buffers in maximum cardinality order: the next buffer always has the most ordered neighbours."""
    count = [0] * len(neighbours)
    # Entry k of `waiting` has the buffers that wait and have k ordered neighbours.
    waiting: list[dict[int, None]] = [dict.fromkeys(range(len(neighbours)))]
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
