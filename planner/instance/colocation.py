"""Which buffers must lie in one pool: those that `relative` or `together` ties."""

from __future__ import annotations

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan.planner.model.problem import Problem


def colocation_groups(problem: Problem) -> I64:
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
