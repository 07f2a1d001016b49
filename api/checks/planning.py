"""A plan that keeps budgets, if there is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from memplan.api.checks.budgets import within
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem


def plan_within(problem: Problem, budgets: Mapping[str, int], plan_one: Callable[[Problem], Plan]) -> Plan:
    """Return a plan of the problem that keeps the budgets if one is found; else one that shows by how much it does not.

    Budgets are no sizes: first nothing is held to them, as the bounds of such a plan are bounds of the problem. Only
    where the objective looks at more than the pool's own peak, a second plan is held to them.
    """
    plan = plan_one(problem)
    if not _is_over(plan, budgets) or (len(problem.pools) == 1 and problem.objective == "peak"):
        return plan
    held = plan_one(within(problem, budgets))
    return plan if held.peak is None else _of_problem(held, problem)


def _is_over(plan: Plan, budgets: Mapping[str, int]) -> bool:
    return any(use.used is not None and use.used > budgets.get(use.name, use.used) for use in plan.pools)


def _of_problem(plan: Plan, problem: Problem) -> Plan:
    """Return a plan of the problem in smaller pools as one of the problem: what was proved of it is not so any more."""
    pools = tuple(
        use.model_copy(update={"size": pool.size, "lower_bound": None})
        for use, pool in zip(plan.pools, problem.pools, strict=True)
    )
    unknown = dict.fromkeys(("lower_bound", "gap", "cost_lower_bound", "proof"))
    changes = {"status": "feasible", "pools": pools, "problem_hash": problem_hash(problem), **unknown}
    if plan.stop_reason == "proved":
        changes["stop_reason"] = None
    return plan.model_copy(update=changes)
