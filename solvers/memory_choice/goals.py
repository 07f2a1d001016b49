"""The goals of an objective in turn, what is proved of them, and what a bound on the next one means as a score."""

from __future__ import annotations

from fractions import Fraction
from math import lcm, nextafter

from memplan.planner.instance.instance import Instance
from memplan.planner.instance.objective import Score, used
from memplan.solvers.formulation.costs import Costs
from memplan.solvers.memory_choice.knapsack import Knapsack
from memplan.solvers.search.incumbent import Search

COST = -1
"""The goal that is no pool's end."""


class Goals:
    """The cost, where it counts, in steps; then the ends of the pools, last one first, in units.

    `proved_values` has the proved least value of each goal so far, which the best plan of the search reaches.
    """

    def __init__(self, knapsack: Knapsack, search: Search) -> None:
        self.knapsack, self.search = knapsack, search
        p = len(knapsack.row_capacities)
        self.has_cost = knapsack.costs is not None
        self.order = [COST] * self.has_cost + list(reversed(range(p)))
        self.proved_values: list[int] = []
        self._initial = search.bound
        self._initial_ends = tuple(int(end) for end in search.bound[self.has_cost :])
        self._is_exact = _is_exact(knapsack.instance, knapsack.costs)

    @property
    def left(self) -> list[int]:
        """The goals that are not proved."""
        return self.order[len(self.proved_values) :]

    def best_value(self, goal: int) -> int | None:
        """Return what the best plan has of a goal, if there is one."""
        best = self.search.best
        if best is None:
            return None
        if goal == COST:
            return self.knapsack.cost(self.knapsack.home_of(best.pool))
        return used(self.knapsack.instance, best.pool, best.offset)[goal]

    def known_floor(self) -> int:
        """Return what the first bound says of the next end; it counts where the ends before it are as it says."""
        ends = tuple(self.proved_values[self.has_cost :])
        return self._initial_ends[len(ends)] if ends == self._initial_ends[: len(ends)] else 0

    def score(self, floor: int) -> Score:
        """Return the score that nothing is below, as nothing is below `floor` in the next goal."""
        values = [*self.proved_values, floor]
        ends = tuple(values[self.has_cost :])
        is_as_before = ends == self._initial_ends[: len(ends)]
        rest = self._initial_ends[len(ends) :]
        ends += rest if is_as_before else (0,) * len(rest)
        return (self._cost(values[0]), *ends) if self.has_cost else ends

    def _cost(self, steps: int) -> float:
        """Return the cost of so many steps, rounded as the objective rounds it, or down."""
        assert self.knapsack.costs is not None
        best, cost = self.search.best, self.knapsack.costs.of_steps(steps)
        if self._is_exact:
            return cost
        if best is not None and self.best_value(COST) == steps and abs(best.score[0] - cost) <= 1e-12 * cost:
            return best.score[0]
        # Rounded down: a bound must not pass the cost that a plan of so many steps is written with.
        return max(self._initial[0], nextafter(cost * (1 - 1e-12), 0))


def _is_exact(instance: Instance, costs: Costs | None) -> bool:
    """Say whether costs are never rounded: prices are what they are written as, and no sum takes more than 53 bits."""
    if costs is None:
        return True
    prices = [Fraction(pool.cost) for pool in instance.pools]
    written = [Fraction(repr(float(pool.cost))) for pool in instance.pools]
    parts = lcm(*(price.denominator for price in prices))
    dearest = sum(instance.traffic.tolist()) * max(prices)
    return prices == written and dearest * parts < 2**53
