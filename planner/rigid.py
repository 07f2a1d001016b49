"""Which buffers lie at fixed distances from each other, and which lie in one pool: `relative` and `together`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from planner.table import I64

if TYPE_CHECKING:
    from planner.problem import Problem


def rigid_groups(problem: Problem) -> Mapping[int, tuple[int, int]]:
    """Return, for each buffer that `relative` joins with others, (its group's lowest buffer, bytes above that one).

    The lowest buffer of a group is in it, too, with a distance of 0; of several, it is the first. Aliases are in no
    group: what is relative to one is so to the buffer that the alias lives in. The chains must not lead back to
    themselves.
    """
    above: dict[int, tuple[int, int]] = {}  # from a buffer to (the one where its chain ends, bytes above that one)
    for i in problem.buffers.relatives:
        path = []
        while i in problem.buffers.relatives and i not in above:
            path.append(i)
            i = target(problem, i)[0]
        at, distance = above.get(i, (i, 0))
        for j in reversed(path):
            distance += target(problem, j)[1]
            above[j] = (at, distance)
    members: dict[int, list[tuple[int, int]]] = {}
    for i, (at, distance) in above.items():
        members.setdefault(at, [(0, at)]).append((distance, i))
    found: dict[int, tuple[int, int]] = {}
    for group in members.values():
        lowest, lead = min(group)
        found.update({i: (lead, distance - lowest) for distance, i in group})
    return found


def target(problem: Problem, i: int) -> tuple[int, int]:
    """Return what buffer `i` is relative to, as (a buffer that is no alias, bytes above its start)."""
    name, distance = problem.buffers.relatives[i]
    at = problem.index[name]
    root, more = problem.roots.get(at, (at, 0))
    return root, distance + more


def companies(problem: Problem) -> I64:
    """Return, for each buffer that is no alias, the first of those that must lie in one pool with it."""
    leader = np.arange(len(problem.buffers))

    def find(i: int) -> int:
        while leader[i] != i:
            leader[i] = leader[leader[i]]
            i = int(leader[i])
        return i

    def join(i: int, j: int) -> None:
        low, high = sorted((find(i), find(j)))
        leader[high] = low

    for i, (lead, _) in problem.rigid.items():
        join(i, lead)
    for names in problem.together:
        first, *rest = (problem.root_of(name) for name in names)
        for i in rest:
            join(first, i)
    while not np.array_equal(leader, leader[leader]):
        leader = leader[leader]
    return leader
