"""A plan as every entrance makes it, and writes it: the solve, and the reason where nothing fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from pydantic_core import to_jsonable_python

from memplan.capabilities import MODULES
from memplan.capabilities.capability import Control
from memplan.capabilities.plan.heap_search import problem_in_heaps
from memplan.capabilities.question import Question
from memplan.capabilities.sizes import size_text
from memplan.planner.errors import OptionError, shown
from memplan.planner.formats import memplan_json
from memplan.planner.instance.instance import Instance
from memplan.planner.model.plan import Heaps, Plan
from memplan.planner.model.planned import with_problem
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio import stages
from memplan.solvers.portfolio.options import SolveOptions
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.reference import checked, table

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
    if is_own_planner(options.solver) and not running.is_local:
        raise OptionError(f"solver: must not be a planner of your own on a service, got {shown(options.solver)}")
    given = {name: getattr(options, name) for name in SolveOptions.model_fields} | {"time_limit_s": limit_s}
    control = running.searching(keeping_s=running.left_s - limit_s, report=report)
    plan = solve(problem, **given, start=start, control=control)
    return with_reason(problem, plan, running, reason_s)


def check_solver(problem: Problem, instance: Instance, solver: str) -> None:
    """Raise OptionError for a solver that cannot do what a problem needs."""
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


def plan_status(plan: Plan) -> int:
    """Return the exit status: 0 for a plan."""
    return 0 if plan.status in ("optimal", "feasible") else 1


PLAN_EXITS = {0: "a plan was found", 1: "none fits"}


@cache
def _no_problem() -> Problem:
    return Problem(buffers=())  # not at import: it takes 2 ms, and the command writes with its problem


def write_plan(plan: Plan) -> bytes:
    """Write a plan as JSON, which says the same of it whatever the problem is."""
    return memplan_json.write_plan(plan, _no_problem())


def plan_refuted(question: Question, plan: Plan) -> str | None:
    """Return why a plan is not one of the problem in a question, if so."""
    violations = verify(problem_in_heaps(question["problem"], plan), plan)
    return f"plan: is not one of this problem: {violations[0].message}" if violations else None


def plan_lines(plan: Plan) -> Iterator[str]:
    """Yield the lines for people: what is known, the use of each pool, and what was kept."""
    yield headline(plan)
    if plan.heaps is not None:
        yield heaps_line(plan, plan.heaps)
    for pool in plan.pools if plan.peak is not None else ():
        size = "" if pool.size is None else f" of {pool.size:,}"
        bound = "" if pool.lower_bound is None else f", lower bound {pool.lower_bound:,}"
        name = pool.name if pool.name.isprintable() else shown(pool.name)
        yield f"{name}: {pool.used or 0:,} bytes ({size_text(pool.used or 0)}){size}{bound}"
    yield from kept_lines(plan)
    for finding in plan.findings:
        yield f"warning: {finding.rule}: {finding.message}"


def heaps_line(plan: Plan, heaps: Heaps) -> str:
    """Say how many heaps a plan has, and whether fewer are enough."""
    count = len(plan.pools)
    fewest = "no fewer are enough" if count == heaps.least else f"at least {heaps.least:,} are needed"
    return f"{count:,} heaps of at most {heaps.limit:,} bytes, {fewest}"


def headline(plan: Plan) -> str:
    """Say in one line what is known of a plan, or why there is none."""
    if plan.peak is None:
        return f"{plan.status}: {plan.explanation.message if plan.explanation else plan.stop_reason}"
    bound = "" if plan.lower_bound is None else f", lower bound {plan.lower_bound:,}"
    gap = "" if plan.gap is None else f", gap {plan.gap:.2%}"
    spent = "" if plan.wall_time_s is None else f", {plan.wall_time_s:.2f} s"
    return f"{plan.status}: peak {plan.peak:,} bytes{bound}{gap}, by {plan.solver}{spent}"


def kept_lines(plan: Plan) -> Iterator[str]:
    """Yield the sentence about the places of an old plan, where some were to be kept."""
    if (kept := plan.kept) is not None:
        rule = "proved to be the fewest" if kept.proved else f"at least {kept.least_moves:,} must"
        yield f"{kept.moved:,} of {kept.moved + kept.stayed:,} buffers moved, {kept.moved_bytes:,} bytes; {rule}"
        if kept.not_tried is not None:
            yield f"not tried: {kept.not_tried}"
