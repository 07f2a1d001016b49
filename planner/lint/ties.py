"""What is legal but surely not meant of buffers that are tied: those that may share, views, and uses of banks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice

import numpy as np

from memplan.planner.errors import shown
from memplan.planner.model.finding import Finding
from memplan.planner.model.problem import Problem

_PAIRS_LOOKED_AT = 100_000
"""How many pairs of views of one memory are looked at, in all."""


def long_sharing(problem: Problem) -> Iterator[Finding]:
    """Two that may share are alive together while others are born: an operation in place is one step."""
    if not problem.may_share:
        return
    births = np.unique(problem.buffers.start)
    lifetimes = _lifetimes_of_families(problem, {problem.root_of(name) for pair in problem.may_share for name in pair})
    for k, (a, b) in enumerate(problem.may_share):
        for low, high in lifetimes[problem.root_of(a)]:
            for since, until in lifetimes[problem.root_of(b)]:
                first, last = max(low, since), min(high, until)
                at = int(np.searchsorted(births, first, side="right"))
                if at < len(births) and births[at] < last:
                    message = (
                        f"may_share[{k}]: {shown((a, b))} are alive together in [{first}, {last}), which is more than "
                        f"one step: others are born at {births[at]}"
                    )
                    yield Finding("long-sharing", message, (a, b))


def _lifetimes_of_families(problem: Problem, roots: set[int]) -> dict[int, list[tuple[int, int]]]:
    """Return the lifetimes of some buffers, with those of their aliases."""
    found: dict[int, list[tuple[int, int]]] = {i: [] for i in roots}
    for i in (*roots, *problem.roots):
        root, _ = problem.roots.get(i, (i, 0))
        if root in found:
            found[root] += problem.buffers.intervals(i)
    return found


def views_that_cut_each_other(problem: Problem) -> Iterator[Finding]:
    """Two views share a part of their bytes while both are alive, which no rule forbids, since they are views.

    A view of a view lies inside it, and slices lie side by side. So what is tied together like this is often a real
    conflict that a flag such as "may overlap" hides.
    """
    ids, size = problem.buffers.ids, problem.buffers.size
    views: dict[int, list[tuple[int, int]]] = {}  # of each memory: (bytes from its start, buffer)
    for i, (root, distance) in problem.roots.items():
        lead, more = problem.rigid.get(root, (root, 0))
        views.setdefault(lead, []).append((distance + more, i))
    for i, (lead, distance) in problem.rigid.items():
        views.setdefault(lead, []).append((distance, i))
    pairs = (pair for members in views.values() for pair in combinations(sorted(members), 2))
    for (low, i), (high, j) in islice(pairs, _PAIRS_LOOKED_AT):
        end = low + int(size[i])
        if low < high < end < high + int(size[j]) and _meet(problem, i, j):
            who = f"buffers {shown(ids[i])} and {shown(ids[j])}"
            message = f"{who}: share {end - high} bytes while both are alive, which only a tie between them allows"
            yield Finding("hidden-overlap", message, (ids[i], ids[j]))


def _meet(problem: Problem, i: int, j: int) -> bool:
    mine, others = problem.buffers.intervals(i), problem.buffers.intervals(j)
    return any(low < until and since < high for low, high in mine for since, until in others)


def idle_banks(problem: Problem) -> Iterator[Finding]:
    """What is said of banks asks nothing: no pool has any, or weights are not minimised."""
    if problem.bank and all(pool.bank_size is None for pool in problem.pools):
        yield Finding("idle-banks", "bank: asks nothing, since no pool has a bank_size")
    elif problem.objective != "cost" and any(use.weight for use in problem.bank):
        got = shown(problem.objective)
        yield Finding("idle-weights", f'bank: weights are minimised with objective "cost" only, got {got}')
