"""The claims that a certificate proves for a plan: limits on the ends of pools in bytes, and exact integer costs."""

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
import numpy.typing as npt

from memplan.planner.instance.instance import Bool, Instance
from memplan.planner.instance.legal_offsets import last_end
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem, replace_profile


@dataclass(frozen=True)
class Goal:
    """A claim about all plans: no plan ends at or below `ends` (bytes per pool), or no plan within `ends` costs less.

    `excess` is None unless the claim concerns costs. With excess 0, no plan costs less than the given plan. With excess
    1, the claim breaks a tie in favour of `pool`: no plan within `ends` has at most the given plan's cost. So the given
    plan uses the fewest bytes of `pool` among the plans that equal it in all earlier claims.
    """

    ends: tuple[int, ...]
    excess: int | None = None
    pool: int | None = None

    @property
    def is_tied(self) -> bool:
        """True if the claim breaks a tie among plans of equal cost; the proof of that cost does not depend on it."""
        return self.excess == 1


def used_of(problem: Problem, plan: Plan) -> list[int]:
    """Return the largest end offset in each pool of a plan, in bytes; buffers of size 0 do not count."""
    table, placed = problem.buffers, plan.placements
    ends = [0] * len(problem.pools)
    pools = [problem.pool_index[name] for name in placed.pool_names]
    for name, pool, offset in zip(placed.ids, placed.pool.tolist(), placed.offset.tolist(), strict=True):
        size = int(table.size[problem.index[name]])
        if size:
            ends[pools[pool]] = max(ends[pools[pool]], offset + size)
    return ends


def kind_of(problem: Problem, plan: Plan) -> str:
    """Return the kind of a plan's claim: "infeasible", "used" (pool ends), "cost", "moves", or a profile with costs."""
    if plan.status == "infeasible":
        return "infeasible"
    if problem.moves:
        return "moves"
    if plan.profile == "speed" or (plan.profile == "balanced" and plan.cost_lower_bound is not None):
        return plan.profile
    return "cost" if problem.objective == "cost" and plan.profile is None else "used"


def goals_of(problem: Problem, plan: Plan, kind: str) -> list[Goal]:
    """Return the claims that together prove a plan's status: on the cost, if it counts, and on pools, last first."""
    sizes = tuple(last_end(pool) for pool in problem.pools)
    if kind == "infeasible":
        return [Goal(sizes)]
    used, top, excess = used_of(problem, plan), len(sizes), None if kind == "used" else 1
    goals = [] if excess is None else [Goal(sizes, 0)]
    if kind == "balanced":
        top -= 1
        goals = [Goal((*sizes[:-1], used[-1] - 1))] * (used[-1] > 0) + [Goal((*sizes[:-1], used[-1]), 0)]
    lower = [q for q in reversed(range(top)) if used[q]]
    return goals + [Goal((*sizes[:q], used[q] - 1, *used[q + 1 :]), excess, q) for q in lower]


def problem_for_claim(problem: Problem, kind: str) -> Problem:
    """Return the problem with the costs of profile "speed" if `kind` is "speed" or "balanced", or else unchanged."""
    return replace_profile(problem, "speed") if kind in ("speed", "balanced") else problem


NEVER = 2**120


@dataclass(frozen=True, eq=False)
class Prices:
    """The exact costs of buffers in pools, as integers; 1 stands for 1 / `parts` of a unit of cost.

    `price[q][i]` is the cost of buffer `i` in pool `q`. `least` is the cost that is claimed to be minimal.
    """

    price: list[list[int]]
    parts: int
    least: int

    @classmethod
    def from_instance(cls, problem: Problem, instance: Instance, pool: list[int]) -> "Prices":
        """Return the prices of an instance; pool[i] is buffer i's pool in the plan whose cost is claimed as minimal."""
        # The checker reads the decimal text of a price, so use the exact value of the text, not the binary float.
        costs = [Fraction(repr(float(each.cost))) for each in problem.pools]
        parts = lcm(*(cost.denominator for cost in costs))
        traffic = instance.traffic.tolist()
        price = [[moved * int(cost * parts) for moved in traffic] for cost in costs]
        return cls(price, parts, sum(price[q][i] for i, q in enumerate(pool)))


@dataclass(frozen=True, eq=False)
class PriceMultipliers:
    """Lagrange multipliers (prices of pool capacity) as integers, scaled by `scale` like the costs.

    `charge[q, i]` is the scaled cost of buffer `i` in pool `q` plus the price of the bytes that it uses there. `paid`
    is the total price of all capacity.
    """

    scale: int
    charge: npt.NDArray[np.object_]
    paid: int

    def min_costs(self, allowed: Bool) -> npt.NDArray[np.object_]:
        """Return the exact charge of each buffer in its cheapest allowed pool, or NEVER if no pool is allowed."""
        return np.asarray(np.where(allowed, self.charge, NEVER).min(axis=0, initial=NEVER))
