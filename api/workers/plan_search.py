"""Searches for plans that run in child processes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from memplan.api.workers.task import TaskControl
from memplan.planner.instance.instance import Instance
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.questions.plan.reason import REASON_S, add_reason
from memplan.solvers.portfolio.one_search import OneSearch
from memplan.solvers.portfolio.options import SolveOptions
from memplan.solvers.portfolio.profiles import interim_result, solve_profile
from memplan.solvers.portfolio.solve import search_plan
from memplan.solvers.search.control import Control, Deadline
from memplan.solvers.search.result import SolveResult


@dataclass(frozen=True, eq=False)
class PlanSearch:
    """A search for a plan in a child process: the problem, its options, its deadline, and the best known plan."""

    problem: Problem
    options: SolveOptions
    deadline: Deadline
    start: Plan | None = None


def search(
    control: TaskControl, problem: Problem, options: SolveOptions, start: Plan | None, instance: Instance | None = None
) -> SolveResult:
    """Search for a plan by the options' profile, if any; return the result, with an explanation if nothing fits."""
    profile = options.profile_of(problem)
    if problem.equal_use:
        result = _search_equal_pools(problem, options, control, start)
    elif profile is None:
        one = OneSearch(problem, options, control, start=start, instance=instance)
        control.watch(one.interim_result)
        result = one.finish()
    else:

        def watch(best: Callable[[], SolveResult | None]) -> None:
            def profile_result() -> SolveResult | None:
                """Return the best result so far in the form of the profile's answer; None before the first result."""
                return None if (best_now := best()) is None else interim_result(problem, profile, best_now)

            control.watch(profile_result)

        result = solve_profile(problem, options, control, profile, start, watch=watch)
    running = replace(control, counted_s=REASON_S if options.deterministic else None)
    return replace(result, plan=add_reason(problem, result.plan, running))


def best_known(asked: PlanSearch) -> SolveResult:
    """Return the best known plan as a search's result, without searching; status `unknown` if no plan is known."""
    over = threading.Event()
    over.set()
    options = asked.options.model_copy(update={"solver": "auto", "accept": None, "deterministic": False})
    control = Control(asked.deadline, over)
    if asked.problem.equal_use:
        return _search_equal_pools(asked.problem, options, control, asked.start)
    result = OneSearch(asked.problem, options, control, start=asked.start).finish()
    profile = asked.options.profile_of(asked.problem)
    return result if profile is None else interim_result(asked.problem, profile, result)


def _search_equal_pools(problem: Problem, options: SolveOptions, control: Control, start: Plan | None) -> SolveResult:
    plan = search_plan(problem, options, start=start, control=control)
    return SolveResult(plan, stop_reason=plan.stop_reason, elapsed_s=plan.wall_time_s or 0.0)
