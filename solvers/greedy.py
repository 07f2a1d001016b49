"""Orders x fit rules."""

from __future__ import annotations

import numpy as np

from planner.instance import Instance
from planner.table import I64, column
from solvers.search import Search


def solve(instance: Instance, search: Search) -> None:
    """Offer the first fit by size."""
    order = np.lexsort((instance.source, -instance.size)).tolist()
    neighbours: list[set[int]] = [set() for _ in range(len(instance))]
    for t in range(instance.n_live_sets):
        members = instance.members(t).tolist()
        for i in members:
            neighbours[i].update(members)
    for i in range(len(instance)):
        neighbours[i].update(instance.conflict[instance.conflict_first[i] : instance.conflict_first[i + 1]].tolist())
    pins = [i for i in order if instance.pin[i] >= 0]
    pool: dict[int, int] = {}
    offset: dict[int, int] = {}
    for i in pins:
        pool[i], offset[i] = int(instance.allowed[:, i].argmax()), int(instance.pin[i])
    for i in order:
        if i in offset:
            continue
        for q, memory in enumerate(instance.memories):
            if not instance.allowed[q, i]:
                continue
            size, step, start = int(instance.size[i]), int(instance.alignment[q, i]), int(instance.residue[q, i])
            taken = sorted(
                [(offset[j], offset[j] + int(instance.size[j])) for j in neighbours[i] if pool.get(j) == q and j != i]
                + [(low, high) for low, high in memory.reserved.tolist()]
            )
            at = start
            for low, high in taken:
                if low < at + size and at < high:
                    at = start + -(-(high - start) // step) * step
            if at + size <= memory.capacity:
                pool[i], offset[i] = q, at
                break
        else:
            return
    n = len(instance)
    search.offer(_as_column(pool, n), _as_column(offset, n), "greedy:size")


def _as_column(values: dict[int, int], n: int) -> I64:
    return column([values[i] for i in range(n)])
