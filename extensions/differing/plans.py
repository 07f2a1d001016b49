"""The search for several plans of a problem, cheapest first, with a proof of each plan's cost.

Two plans differ in the priced pairs that they pay for: pairs of buffers that may share bytes or a bank at a cost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memplan.extensions.differing.search import NAME, WORK_PER_S, FurtherPlan, FurtherPlans
from memplan.extensions.prices.pieces import suits
from memplan.planner.errors import OptionError, excerpt
from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.instance.instance import Instance
from memplan.planner.instance.objective import used_ends
from memplan.planner.instance.pair_report import bank_clashes, reused_pairs
from memplan.planner.model.buffer_table import I64, column
from memplan.planner.model.plan import Others, Plan, attach_problem
from memplan.planner.model.problem import Problem
from memplan.planner.model.problem_fields import PEAK_THEN_COST, counts_cost
from memplan.questions.question import Control
from memplan.solvers.formulation.costs import Costs
from memplan.solvers.portfolio import registry
from memplan.solvers.search.to_plan import gap_of

FIRST_SHARE = 0.5
"""The fraction of the time limit that the first plan may use."""


def find_plans(problem: Problem, count: int, distance: int, control: Control, first: Callable[[float], Plan]) -> Plan:
    """Return the first plan together with up to `count - 1` other plans, found within the time limit of the call."""
    _refuse_unless_priced(problem)
    answer = first(FIRST_SHARE)
    return _add_other_plans(problem, answer, count, distance, control) if answer.placements else answer


def _refuse_unless_priced(problem: Problem) -> None:
    """Raise OptionError unless a problem has priced pairs, one pool per buffer, and only supported constraints."""
    # Rounding to coarser units may hide that two buffers can touch a common bank, so use units of one byte.
    instance = compile_problem(problem, column([1]))
    if not counts_cost(problem.objective) or not len(instance.priced_pairs):
        rule = 'must be 1 unless the objective is "cost" and pairs have a price ("reuse", or "bank" with weights)'
        got = f", got objective {excerpt(problem.objective)}"
        raise OptionError.from_rule("plans", f"{rule}{got}", way="leave plans out")
    extra = sorted(instance.features - registry.find("prices").can)
    if extra or not suits(instance):
        reason = "in which each buffer may be in one pool only"
        if extra:
            reason = f"without {', '.join(extra)}"
        elif (instance.allowed.sum(axis=0) == 1).all():
            reason = "in which no pair that conflicts or pays for shared bytes also pays for a bank"
        raise OptionError.from_rule("plans", f"must be 1 unless the problem is one {reason}", way="leave plans out")


def _add_other_plans(problem: Problem, first: Plan, count: int, distance: int, control: Control) -> Plan:
    """Return the plan `first` with up to `count - 1` other plans, each the cheapest that differs from all before.

    Two plans differ if at least `distance` pairs are paid for by exactly one of them. Interchangeable buffers are
    sorted by offset in all plans, so that no two plans differ only by an exchange of such buffers.
    """
    original = problem
    if problem.objective == PEAK_THEN_COST:
        sizes = {use.name: use.used or None for use in first.pools}
        pools = tuple(pool.model_copy(update={"size": sizes[pool.name] or pool.size}) for pool in problem.pools)
        original = problem.model_copy(update={"objective": "cost", "pools": pools})
    instance = compile_problem(original, column([1]))
    row = first.placements.row_of
    offset = first.placements.offset[[row[problem.buffers.ids[i]] for i in instance.source.tolist()]]
    is_least = first.cost_lower_bound is not None and first.cost == first.cost_lower_bound
    with control.search_control(WORK_PER_S) as watched:
        search = FurtherPlans(instance, offset, distance, is_least, watched)
    others: list[Plan] = []
    while len(others) + 1 < count and not search.is_complete:
        with control.child(1 / (count - 1 - len(others))).search_control(WORK_PER_S) as watched:
            plan = search.next_plan(watched)
        if plan is None:
            break
        others.append(_plan_of(problem, instance, first, plan))
    answer = first.model_copy(
        update={
            **_placement_fields(problem, instance, search.first.offset),
            "others": Others(distance=distance, complete=search.is_complete, plans=tuple(others)),
        }
    )
    return attach_problem(answer, problem)


def _placement_fields(problem: Problem, instance: Instance, offset: I64) -> dict[str, Any]:
    placements = lift(problem, instance, instance.allowed.argmax(axis=0), offset)
    return {
        "placements": placements,
        "bank_clashes": bank_clashes(problem, placements) if problem.bank else (),
        "reused": reused_pairs(problem, instance, placements) if problem.reuse else (),
    }


def _plan_of(problem: Problem, instance: Instance, first: Plan, found: FurtherPlan) -> Plan:
    """Return a further plan as a Plan; the bound on its cost holds for every plan that differs from earlier ones."""
    is_at_peak, costs = problem.objective == PEAK_THEN_COST, Costs.from_instance(instance)
    cost = costs.cost_of_steps(found.steps)
    bound = None if first.cost_lower_bound is None else costs.cost_of_steps(found.bound)
    ends = used_ends(instance, instance.allowed.argmax(axis=0), found.offset)
    pools = tuple(
        use.model_copy(update={"used": end, "lower_bound": use.lower_bound if is_at_peak else None})
        for use, end in zip(first.pools, ends, strict=True)
    )
    is_best = cost == bound and (bool(problem.reuse) or is_at_peak)
    goals = [*((use.used or 0, use.lower_bound) for use in reversed(pools)), (cost, bound)]
    return Plan(
        status="optimal" if is_best else "feasible",
        peak=sum(ends),
        lower_bound=first.lower_bound if is_at_peak else None,
        gap=0.0 if is_best else gap_of(goals if is_at_peak else [goals[-1], *goals[:-1]]),
        cost=cost,
        cost_lower_bound=bound,
        pools=pools,
        solver=NAME,
        **_placement_fields(problem, instance, found.offset),
    )
