"""Costs as whole numbers: what plans cost above the cheapest conceivable, in the largest step that divides it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

import numpy as np

from planner.instance import Instance


@dataclass(frozen=True, eq=False)
class Costs:
    """Every plan costs `cheapest` plus a whole number of `step`s; buffer `i` in memory `q` adds extra[i][q] of them.

    Prices are taken as the decimals that they are written as.
    """

    cheapest: Fraction
    step: Fraction
    extra: list[dict[int, int]]

    @classmethod
    def of(cls, instance: Instance) -> Costs:
        """Return the costs of an instance's buffers in the memories that each may lie in."""
        prices = [Fraction(repr(float(memory.cost))) for memory in instance.memories]
        cheapest, above = Fraction(0), list[dict[int, Fraction]]()
        for i, traffic in enumerate(instance.traffic.tolist()):
            asked = {q: traffic * prices[q] for q in np.flatnonzero(instance.allowed[:, i]).tolist()}
            least = min(asked.values(), default=Fraction(0))
            cheapest += least
            above.append({q: cost - least for q, cost in asked.items()})
        step = _common_step([cost for costs in above for cost in costs.values()])
        return cls(cheapest, step, [{q: int(cost / step) for q, cost in costs.items()} for costs in above])

    @property
    def most(self) -> int:
        """The steps of the dearest choice for every buffer."""
        return sum(max(costs.values(), default=0) for costs in self.extra)

    def of_steps(self, steps: int) -> float:
        """Return the cost, in the problem's terms, of a plan that adds so many steps."""
        return float(self.cheapest + steps * self.step)

    def steps_of(self, cost: float) -> int:
        """Return how many steps a plan of this cost adds."""
        return round((Fraction(cost) - self.cheapest) / self.step)


def _common_step(values: list[Fraction]) -> Fraction:
    below = lcm(*(value.denominator for value in values))
    step = Fraction(gcd(*(int(value * below) for value in values)), below)
    return step or Fraction(1)
