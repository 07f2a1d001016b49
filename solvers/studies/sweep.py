"""One problem at many sizes of one pool: what each more byte of it is worth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from memplan.planner.errors import OptionError, shown
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem


@dataclass(frozen=True)
class SweepPoint:
    """The plan for one size of the pool, in bytes."""

    size: int
    plan: Plan


def sweep(
    problem: Problem, pool: str, sizes: Iterable[int], plan_one: Callable[[Problem, Plan | None], Plan]
) -> Iterator[SweepPoint]:
    """Yield a plan for each size of a pool, from the smallest to the largest; none is worse than one before it.

    `plan_one(problem, start)` plans a problem, no worse than the plan `start` that is start already: what fits a small
    pool fits a larger one. Raises OptionError for a pool that the problem does not have.
    """
    start: Plan | None = None
    for size in sorted(set(sizes)):
        plan = plan_one(with_size(problem, pool, size), start)
        yield SweepPoint(size, plan)
        start = plan if is_found(plan) else start


def with_size(problem: Problem, pool: str, size: int) -> Problem:
    """Return the problem with another size of one pool; raises OptionError for an unknown pool."""
    names = [row.name for row in problem.pools]
    if pool not in names:
        raise OptionError(f"sweep: must name a pool of the problem ({', '.join(names)}), got {shown(pool)}")
    fields = {name: getattr(problem, name) for name in Problem.model_fields}
    pools = [dict(row) | ({"size": size} if row.name == pool else {}) for row in problem.pools]
    return Problem.model_validate(fields | {"pools": pools})


def informed(points: Sequence[SweepPoint]) -> list[SweepPoint]:
    """Return the points with what larger sizes say of smaller ones: a plan that is best there is best here, too.

    So the bound on the cost for a size is never below that for a larger one, and a plan that is no worse than the
    best one for a larger size is optimal.
    """
    told: list[SweepPoint] = []
    for point in reversed(points):
        plan = _told_by(told[-1].plan, point.plan) if told else point.plan
        told.append(SweepPoint(point.size, plan))
    return told[::-1]


def _told_by(larger: Plan, plan: Plan) -> Plan:
    if plan.cost is not None and larger.cost_lower_bound is not None:
        bound = max(larger.cost_lower_bound, plan.cost_lower_bound or 0.0)
        plan = plan.model_copy(update={"cost_lower_bound": min(bound, plan.cost)})
    if plan.status != "feasible" or larger.status != "optimal" or _score(plan) != _score(larger):
        return plan
    pools = tuple(use.model_copy(update={"lower_bound": use.used}) for use in plan.pools)
    proved = {"status": "optimal", "lower_bound": plan.peak, "gap": 0.0, "proof": larger.proof, "pools": pools}
    return plan.model_copy(update=proved)


def _score(plan: Plan) -> tuple[float | None, ...]:
    return plan.cost, *(use.used for use in reversed(plan.pools))


def is_found(plan: Plan) -> bool:
    """Say whether a plan places anything."""
    return plan.status in ("optimal", "feasible")
