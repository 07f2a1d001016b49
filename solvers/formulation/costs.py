"""Costs as integers: numbers of equal steps above the cost of the cheapest conceivable plan."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.instance.objective import rounded_down


@dataclass(frozen=True, eq=False)
class Costs:
    """Integer costs: every plan costs `cheapest` plus a whole number of steps of cost `step`.

    Buffer `i` in pool `q` adds extra[i][q] steps. Priced pair `k` adds clash[k] steps if its buffers meet (share bytes
    or a bank). All values are exact: prices count as their decimal texts.
    """

    cheapest: Fraction
    step: Fraction
    extra: list[dict[int, int]]
    clash: list[int]

    @classmethod
    def from_instance(cls, instance: Instance) -> "Costs":
        """Return the costs of an instance: those of each buffer in each pool, and those of each priced pair."""
        prices = [Fraction(repr(float(pool.cost))) for pool in instance.pools]
        weights = [Fraction(repr(weight)) for weight in instance.priced_pairs.price.tolist()]
        parts = lcm(*(value.denominator for value in (*prices, *weights)))
        # Traffic times price may overflow int64, so use Python's integers.
        whole = np.array([int(price * parts) for price in prices], dtype=object)[:, None]
        charged = instance.traffic.astype(object) * whole
        homes = instance.allowed.T.tolist()
        extra, cheapest = [], 0
        for choices, costs in zip(homes, charged.T.tolist(), strict=True):
            mine = {q: cost for q, (cost, is_home) in enumerate(zip(costs, choices, strict=True)) if is_home}
            least = min(mine.values(), default=0)
            cheapest += least
            extra.append({q: cost - least for q, cost in mine.items()})
        clash = [int(weight * parts) for weight in weights]
        # If all choices cost the same, any positive step is valid, so use one whole unit of cost.
        step = gcd(*clash, *(cost for costs in extra for cost in costs.values())) or parts
        return cls(
            Fraction(cheapest, parts),
            Fraction(step, parts),
            [{q: cost // step for q, cost in costs.items()} for costs in extra],
            [cost // step for cost in clash],
        )

    @property
    def max_steps(self) -> int:
        """The cost, in steps, if every buffer is in its most expensive pool and all priced pairs meet."""
        return sum(max(costs.values(), default=0) for costs in self.extra) + sum(self.clash)

    def coarsen(self, factor: int) -> "Costs":
        """Return the costs in steps `factor` times as large, rounded down; bounds on these hold for the exact costs."""
        extra = [{q: steps // factor for q, steps in homes.items()} for homes in self.extra]
        return Costs(self.cheapest, self.step * factor, extra, [steps // factor for steps in self.clash])

    def plan_steps(self, pool: Iterable[int], clashes: Iterable[int]) -> int:
        """Return a plan's cost, counted in cost steps.

        `pool` has each buffer's pool, and `clashes` the numbers of the priced pairs that share bytes or a bank.
        """
        return sum(extra[q] for extra, q in zip(self.extra, pool, strict=True)) + sum(self.clash[k] for k in clashes)

    def cost_of_steps(self, steps: int) -> float:
        """Convert a number of steps to a cost in the unit of the problem's prices, rounded down as scores are."""
        return rounded_down(self.cheapest + steps * self.step)
