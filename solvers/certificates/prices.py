"""Costs as whole numbers, and what bytes of capacity are worth."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
import numpy.typing as npt

from memplan.planner.instance.instance import Bool, Instance
from memplan.planner.model.problem import Problem

NEVER = 2**120


@dataclass(frozen=True, eq=False)
class Prices:
    """Costs as whole numbers, of which `parts` make one: `price[q][i]` of buffers of an instance, and the claim."""

    price: list[list[int]]
    parts: int
    least: int

    @classmethod
    def of(cls, problem: Problem, instance: Instance, pool: list[int]) -> Prices:
        """Return the prices, and the cost of a plan that has each buffer in a certain pool."""
        # As the price is written, not as it is rounded: the checker reads the same text.
        costs = [Fraction(repr(float(each.cost))) for each in problem.pools]
        parts = lcm(*(cost.denominator for cost in costs))
        traffic = instance.traffic.tolist()
        price = [[moved * int(cost * parts) for moved in traffic] for cost in costs]
        return cls(price, parts, sum(price[q][i] for i, q in enumerate(pool)))


@dataclass(frozen=True, eq=False)
class Worth:
    """Multipliers as whole numbers: `charge[q, i]` is what a buffer costs there, `paid` what all capacity is worth."""

    scale: int
    charge: npt.NDArray[np.object_]
    paid: int

    def least(self, allowed: Bool) -> npt.NDArray[np.object_]:
        """Return what each buffer costs in the cheapest pool that it may be in, exactly; NEVER for none."""
        return np.asarray(np.where(allowed, self.charge, NEVER).min(axis=0, initial=NEVER))
