"""A solver that places buffers by first fit in order of start, for problems of one memory without lifetime holes."""

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.solvers.portfolio.registry import SolverRow
from memplan.solvers.search.incumbent import Search


def solve(instance: Instance, search: Search) -> None:
    """Offer the search a plan in which each buffer is at the lowest offset that is free during its lifetime."""
    offset, end = np.zeros(len(instance), dtype=np.int64), instance.end
    order = np.argsort(instance.start, kind="stable").tolist()
    for k, i in enumerate(order):
        if search.is_over:
            return
        alive = [j for j in order[:k] if instance.start[i] < end[j] and instance.start[j] < end[i]]
        for low, high in sorted((offset[j], offset[j] + instance.size[j]) for j in alive):
            if low - offset[i] >= instance.size[i]:
                break
            offset[i] = max(offset[i], high)
    search.offer(np.zeros_like(offset), offset, "first-fit")


ROW = SolverRow("first-fit", "the lowest free offset", "memplan_bump.solver:solve", can=frozenset({"capacity"}))
