"""A plan as every entrance makes it, and writes it: the solve, and the reason where nothing fits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic_core import to_jsonable_python

from memplan.capabilities import MODULES
from memplan.capabilities.capability import Control
from memplan.planner.errors import OptionError, shown
from memplan.planner.model.plan import Plan, with_problem
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.options import SolveOptions
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.reference import table

if TYPE_CHECKING:
    from memplan.planner.instance.instance import Instance

REASON_S = 2.0
"""The seconds that the reason may take where nothing fits."""
LEAST_REASON_S = 0.05
"""With fewer seconds left, the reason is the one that the solve found."""


def planned(
    problem: Problem,
    options: SolveOptions,
    running: Control,
    *,
    share: float = 1.0,
    reason_s: float = REASON_S,
    start: Plan | None = None,
    report: Callable[[Any], object] | None = None,
) -> Plan:
    """Return the plan of a problem by the end of a call, or in a share of its time, unless work is counted.

    Where nothing fits, the reason is looked into for `reason_s`. `start` is a known plan; the search reports its
    progress.
    """
    limit_s = running.left_s if running.counted_s is not None else share * running.left_s
    if not running.is_local and is_own_planner(options.solver):
        raise OptionError(f"solver: must not be a planner of your own on a service, got {shown(options.solver)}")
    given = {name: getattr(options, name) for name in SolveOptions.model_fields} | {"time_limit_s": limit_s}
    control = running.searching(keeping_s=running.left_s - limit_s, report=report)
    plan = solve(problem, **given, start=start, control=control)
    return with_reason(problem, plan, running, reason_s) if plan.status == "infeasible" else plan


def check_solver(problem: Problem, instance: Instance, solver: str) -> None:
    """Raise OptionError for a solver that cannot do what a problem needs."""
    # Imported here: a solve looks itself.
    from memplan.solvers.portfolio import stages
    from memplan.solvers.reference import checked

    planner = table.find(solver)
    if planner is None:
        stages.chosen(instance, solver)
    else:
        checked.check_features(problem, instance, planner)


def is_own_planner(solver: str) -> bool:
    """Return True for the name of a planner of the caller's own, module:function."""
    return ":" in solver and not solver.startswith(table.PREFIX)


def with_reason(problem: Problem, plan: Plan, running: Control, reason_s: float = REASON_S) -> Plan:
    """Return a plan with the reason looked into, where nothing fits and there is time for that."""
    limit_s = reason_s if running.counted_s is not None else min(reason_s, running.left_s)
    if plan.status != "infeasible" or running.cancelled.is_set() or limit_s < LEAST_REASON_S:
        return plan
    if "explain" not in MODULES:
        return plan  # with what the search saw
    # Imported here: most problems fit, and a plan stands on no other question.
    from memplan.capabilities.explain.reasons.reasoning import reason_of

    if plan.explanation is not None:
        running.report({"stage": "infeasible", "explanation": to_jsonable_python(plan.explanation)})
    explanation = reason_of(problem, plan, running.within(limit_s))
    return with_problem(plan.model_copy(update={"explanation": explanation}), problem)
