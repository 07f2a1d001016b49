"""`together`: buffers that must be in one pool; the members of a rigid group must be in one pool in any case."""

from typing import Any

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan.planner.model.constraints.kept import Breaks, KeptBuffers, first_of_equals, unknown_ids
from memplan.planner.model.problem_fields import ProblemFields


def unknown_names(problem: ProblemFields) -> Breaks:
    """Yield a broken rule for each id in `together` that does not belong to a buffer."""
    return unknown_ids(problem, ((("together", k), names) for k, names in enumerate(problem.together)))


def colocation_groups(problem: ProblemFields) -> I64:
    """Return, for each buffer, the position of the first buffer that must be in one pool with it.

    Aliases are not resolved: the group of an alias is the alias alone.
    """
    leader = np.arange(len(problem.buffers))

    def find(i: int) -> int:
        while leader[i] != i:
            leader[i] = leader[leader[i]]
            i = int(leader[i])
        return i

    def join(i: int, j: int) -> None:
        low, high = sorted((find(i), find(j)))
        leader[high] = low

    for i, (lead, _) in problem.rigid_leads.items():
        join(i, lead)
    for names in problem.together:
        first, *rest = (problem.root_of(name) for name in names)
        for i in rest:
            join(first, i)
    while not np.array_equal(leader, leader[leader]):
        leader = leader[leader]
    return leader


def columns(kept: KeptBuffers) -> dict[str, Any]:
    """Return the column `colocation`: for each kept buffer, the first buffer of its colocation group."""
    return {"colocation": first_of_equals(kept.colocation)}
