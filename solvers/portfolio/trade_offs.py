"""Trade-offs between pools: the least weighted sum of their ends, and the smallest slow pool at a limited slowdown.

Both are found by solving a sequence of problems with smaller and smaller pools, so all solvers, proofs and the verifier
are used unchanged.
"""

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, inf

from memplan.planner.bounds.lower_bound import lower_bound
from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.objective import rounded_down
from memplan.planner.model.plan import Plan, PoolUse, WeightedUse
from memplan.planner.model.problem import Problem

Ends = tuple[float, ...]
"""The ends of the pools in bytes, least weight first; inf means no limit."""
OPEN_AT_MOST = 4
"""The limit of searches without a proof, each of which takes half of the remaining time."""
SEARCHES_AT_MOST = 256


@dataclass(eq=False)
class WeightedEnds:
    """The search for the least weighted sum of the pools' ends, by branching on regions (ranges of ends).

    A region contains all ends from `low` to `high`. Once the best plan of a region is known, a plan with a smaller sum
    must have a smaller end in some pool. So the rest of the region is divided into one region per pool, the heaviest
    pool first: its end is smaller there, while heavier pools end no lower than in the plan. The best sum so far limits
    all ends.
    """

    problem: Problem
    weights: tuple[Fraction, ...]
    best: Plan | None = None
    value: Fraction | float = inf
    left: Fraction | float = inf
    n_open: int = 0
    regions: list[tuple[Fraction | float, Ends, Ends]] = field(default_factory=list)

    @classmethod
    def from_problem(cls, problem: Problem, given: Mapping[str, float]) -> "WeightedEnds":
        """Return the search for a problem, whose pools are sorted by weight; pools without a given weight have 0."""
        named = [(Fraction(str(given.get(pool.name, 0))), pool) for pool in problem.pools]
        named.sort(key=lambda pair: pair[0])
        fields = {name: getattr(problem, name) for name in Problem.model_fields}
        pools = tuple(pool for _, pool in named)
        ordered = Problem.model_construct(**fields | {"pools": pools, "objective": "peak"})
        weighted = cls(ordered, tuple(weight for weight, _ in named))
        ends = tuple(inf if pool.size is None else pool.size for pool in pools)
        weighted.regions.append((Fraction(0), (0,) * len(pools), ends))
        return weighted

    def __post_init__(self) -> None:
        """Compute the unit of the ends, and the least total of the pools' ends in bytes."""
        instance = compile_problem(self.problem)
        self.unit = instance.unit
        self.total = lower_bound(instance).total * instance.unit

    @property
    def bound(self) -> Fraction | float:
        """A lower bound on the weighted sum of the ends in every plan."""
        return min(self.value, self.left, *(value for value, _, _ in self.regions[:1]))

    def is_within(self, gap: float | None) -> bool:
        """Return True if the best plan's sum is within the relative gap of the bound; None accepts any plan."""
        return self.best is not None and (gap is None or self.value <= self.bound * (1 + Fraction(gap)))

    def boxes(self) -> Iterator[tuple[Problem, Ends, Ends]]:
        """Yield (problem, low, high) for one region of ends after another, until no region can improve the sum."""
        for k in range(SEARCHES_AT_MOST):
            if not self.regions or self.regions[0][0] >= self.value or self.n_open >= OPEN_AT_MOST:
                return
            _, low, high = heapq.heappop(self.regions)
            high = self._end_limits(low, high)
            if k == 0 or self._min_sum(low, high) < self.value:
                yield self._capped_problem(high), low, high

    def take(self, plan: Plan, low: Ends, high: Ends) -> None:
        """Record the plan found in a region, and queue the region's parts that may have a better plan."""
        if plan.status == "infeasible":
            return
        self.n_open += plan.status != "optimal"
        if not plan.placements:
            self.left = min(self.left, self._min_sum(low, high))
            return
        ends: Ends = tuple(row.used or 0 for row in plan.pools)
        if (value := self._weighted_sum(ends)) < self.value:
            self.best, self.value = plan, value
        low = (*low[:-1], max(low[-1], plan.pools[-1].lower_bound or 0))
        for q in reversed(range(len(ends))):
            if self.weights[q]:
                self._add_region(low, (*high[:q], ends[q] - self.unit, *high[q + 1 :]))
                low = (*low[:q], max(low[q], ends[q]), *low[q + 1 :])

    def _add_region(self, low: Ends, high: Ends) -> None:
        if (value := self._min_sum(low, high)) < self.value:
            heapq.heappush(self.regions, (value, low, high))

    def _weighted_sum(self, ends: Ends) -> Fraction:
        return sum((weight * Fraction(end) for weight, end in zip(self.weights, ends, strict=True)), Fraction(0))

    def _min_sum(self, low: Ends, high: Ends) -> Fraction | float:
        if any(least > most for least, most in zip(low, high, strict=True)):
            return inf
        missing, least_sum = max(0.0, self.total - sum(low)), self._weighted_sum(low)
        for weight, least, most in zip(self.weights, low, high, strict=True):
            more = min(missing, most - least)
            missing, least_sum = missing - more, least_sum + weight * Fraction(more)
        return least_sum if missing == 0 else inf

    def _end_limits(self, low: Ends, high: Ends) -> Ends:
        if self.value == inf:
            return high
        spare = Fraction(self.value) - self._weighted_sum(low)
        return tuple(
            most if weight == 0 else min(most, least + ceil(spare / weight) - 1)
            for weight, least, most in zip(self.weights, low, high, strict=True)
        )

    def _capped_problem(self, high: Ends) -> Problem:
        sizes = [None if most == inf else int(most) for most in high]
        pools = [pool.model_copy(update={"size": size}) for pool, size in zip(self.problem.pools, sizes, strict=True)]
        return self.problem.model_copy(update={"pools": tuple(pools)})

    def plan(self, problem: Problem) -> Plan | None:
        """Return the best plan, with its weighted sum and the pools as in `problem`, or None if no plan was found."""
        plan, bound = self.best, self.bound
        if plan is None:
            return None
        is_best = bound >= self.value
        used = {row.name: row.used for row in plan.pools}
        weights = {pool.name: float(weight) for pool, weight in zip(self.problem.pools, self.weights, strict=True)}
        fields = {
            "status": "optimal" if is_best else "feasible",
            "lower_bound": min(int(self.total), plan.peak or 0),
            "gap": 0.0 if is_best else float(self.value / bound) - 1 if bound else None,
            "pools": tuple(PoolUse(name=pool.name, used=used[pool.name], size=pool.size) for pool in problem.pools),
            "proof": plan.proof if is_best else None,
            "weighted": WeightedUse(
                weights={pool.name: weights[pool.name] for pool in problem.pools if weights[pool.name]},
                sum=rounded_down(Fraction(self.value)),
                lower_bound=rounded_down(Fraction(bound)),
            ),
        }
        return plan.model_copy(update=fields)
