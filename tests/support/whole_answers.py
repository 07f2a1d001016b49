"""False claims of a plan, found by comparing it with all possible plans."""

from math import isclose, isnan, nan
from typing import Any

import memplan
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem, replace_fields, replace_profile
from memplan.planner.model.problem_fields import PEAK_THEN_COST
from tests.support import oracle
from tests.support.orientations import costs_that_fit

Faults = list[str]


def faults_of_plan(problem: Problem, plan: Plan) -> Faults:
    """Return a line for each false statement of a plan, judged by enumerating all plans under its profile."""
    return _faults(problem, plan, _best_goals(problem, plan))


def _best_goals(problem: Problem, plan: Plan) -> tuple[float, ...] | None:
    """Return the optimal value of each objective, in the order of the plan's profile."""
    if plan.profile != "balanced":
        return oracle.best_score(replace_profile(problem, plan.profile))
    ends = oracle.best_score(problem.model_copy(update={"objective": "peak"}))
    if ends is None or plan.cost is None:  # a profile counts costs only if there is a choice of pools
        return ends
    last = problem.pools[-1].model_copy(update={"size": int(ends[0])})
    priced = replace_profile(problem, "balanced")
    pools = [*priced.pools[:-1], last.model_copy(update={"cost": priced.pools[-1].cost})]
    found = oracle.best_score(replace_fields(priced, pools=pools))
    if found is None:  # brute force counts an empty buffer above the end
        assert any(row.size == 0 for row in problem.buffers)
        return (ends[0], *[nan] * len(problem.pools))
    cost, end, *rest = found
    return (end, cost, *rest)


def _faults(problem: Problem, plan: Plan, least: tuple[float, ...] | None) -> Faults:
    if least is None or plan.peak is None:
        is_wrong = plan.status in ("optimal", "feasible") or (plan.status == "infeasible" and least is not None)
        return [f"{plan.status}, where the least is {least}"] if is_wrong else []
    found = [violation.message for violation in memplan.verify(problem, plan).violations]
    ends: list[float] = [use.used or 0 for use in reversed(plan.pools)]
    has_cost_first = plan.profile == "speed" or (problem.objective == "cost" and plan.profile is None)
    costs = [] if plan.cost is None else [plan.cost]
    goals = [*costs, *ends] if has_cost_first else [*ends[:1], *costs, *ends[1:]]
    goals = [*ends, *costs] if problem.objective == PEAK_THEN_COST else goals
    if plan.status == "optimal" and not all(
        isnan(best) or isclose(mine, best) for mine, best in zip(goals, least, strict=True)
    ):
        found.append(f"optimal with {goals}, where {least} is the least")
    total = oracle.min_total(problem)
    if plan.lower_bound is not None and total is not None and plan.lower_bound > total:
        found.append(f"lower_bound {plan.lower_bound}, where a plan uses {total}")
    return found + _false_bounds(problem, plan)


def _false_bounds(problem: Problem, plan: Plan) -> Faults:
    """Return a line for each false bound of a pool or cost, compared with plans that are as good in earlier goals."""
    priced = replace_profile(problem, plan.profile)
    sizes = [pool.size for pool in problem.pools]
    uses = [use.used or 0 for use in plan.pools]
    found: Faults = []
    if plan.cost is not None and plan.cost_lower_bound is not None:
        limits = [*sizes[:-1], uses[-1]] if plan.profile == "balanced" else sizes
        limits = list(uses) if problem.objective == PEAK_THEN_COST else limits
        best = min((cost for cost, _ in _fitting_costs(priced, limits, has_prices=True)), default=None)
        if best is not None and plan.cost_lower_bound > best + 1e-9:
            found.append(f"cost_lower_bound {plan.cost_lower_bound}, where a plan costs {best}")
    for q, use in enumerate(plan.pools):
        limits = [*sizes[: q + 1], *uses[q + 1 :]]
        is_after_cost = plan.cost is not None and problem.objective != PEAK_THEN_COST
        if is_after_cost and not (plan.profile == "balanced" and q + 1 == len(sizes)):
            fitting = _fitting_costs(priced, limits, has_prices=True)
            ends_there = (ends[q] for cost, ends in fitting if cost <= (plan.cost or 0) + 1e-9)
        else:
            ends_there = (ends[q] for _, ends in _fitting_costs(problem, limits))
        best_end = min(ends_there, default=None)
        if use.lower_bound is not None and best_end is not None and use.lower_bound > best_end:
            found.append(f"pools[{q}].lower_bound {use.lower_bound}, where a plan uses {best_end}")
    return found


def _fitting_costs(problem: Problem, limits: list[int | None], has_prices: bool = False) -> Any:
    pools = [pool.model_copy(update={"size": size}) for pool, size in zip(problem.pools, limits, strict=True)]
    return costs_that_fit(problem.model_copy(update={"pools": tuple(pools)}), has_prices)
