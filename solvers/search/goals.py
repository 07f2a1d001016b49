"""The goals of an objective in order of priority, with their proved values, best values and bounds."""

from collections.abc import Callable

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.instance.objective import Score, cost_mask, used_ends
from memplan.solvers.formulation.costs import Costs
from memplan.solvers.search.incumbent import Search

COST = -1
"""The number of the cost goal; all other goals are ends of pools."""


class Goals:
    """The goals in order: the cost in steps, if it counts, then the end of each pool in units, last pool first.

    `proved` contains the proved minimum of each goal so far. The best plan of the search reaches these minima.
    """

    def __init__(self, instance: Instance, search: Search, costs: Costs | None) -> None:
        """List the goals in order of priority, and store the search's initial bound on each."""
        self.instance, self.search, self.costs = instance, search, costs
        self.has_cost = costs is not None
        self.order = [COST] * self.has_cost + list(reversed(range(len(instance.pools))))
        self.proved: list[int] = []
        self._initial = search.bound
        self._initial_ends = tuple(int(end) for end in search.bound[self.has_cost :])

    def pursue(self, least: Callable[[int], int | None]) -> bool:
        """Minimize the goals that are not proved yet, in order; return False once one of them cannot be proved.

        `least(goal)` returns the proved minimum of a goal (the cost or a pool's end), or None.
        """
        for goal in self.order[len(self.proved) :]:
            value = least(goal)
            if value is None or self.search.is_over:
                return False
            self.proved.append(value)
        return True

    def best_value(self, goal: int) -> int | None:
        """Return the value of a goal (cost in steps or end in units) in the best plan, or None without a plan."""
        best = self.search.best
        if best is None:
            return None
        if goal == COST and self.costs is not None:
            is_paid = cost_mask(self.instance, best.pool, best.offset)
            return self.costs.plan_steps(best.pool.tolist(), np.flatnonzero(is_paid).tolist())
        return used_ends(self.instance, best.pool, best.offset)[goal]

    def first_bound(self) -> int:
        """Return the initial bound on the next unproved goal; 0 unless all proved goals equal their initial bounds."""
        if self.has_cost and not self.proved:
            return 0
        ends = tuple(self.proved[self.has_cost :])
        return self._initial_ends[len(ends)] if ends == self._initial_ends[: len(ends)] else 0

    def score(self, floor: int) -> Score:
        """Return a lower bound on the whole score, given the lower bound `floor` on the next unproved goal."""
        values = [*self.proved, floor]
        ends = tuple(values[self.has_cost :])
        is_as_before = ends == self._initial_ends[: len(ends)]
        rest = self._initial_ends[len(ends) :]
        ends += rest if is_as_before else (0,) * len(rest)
        return (max(self._initial[0], self.costs.cost_of_steps(values[0])), *ends) if self.costs is not None else ends
