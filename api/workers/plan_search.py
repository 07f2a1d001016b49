"""Searches for plans in child processes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from memplan.api.workers.task import TaskControl
from memplan.capabilities.plan.planning import REASON_S, with_reason
from memplan.planner.instance.instance import Instance
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.one_search import Solve
from memplan.solvers.portfolio.options import SolveOptions
from memplan.solvers.portfolio.profiles import so_far, solve_profile
from memplan.solvers.search.control import Control, Deadline
from memplan.solvers.search.result import SolveResult


@dataclass(frozen=True, eq=False)
class PlanSearch:
    """A search for a plan in a child: when its answer is due, and the best plan known."""

    problem: Problem
    options: SolveOptions
    deadline: Deadline
    start: Plan | None = None


def search(
    control: TaskControl,
    problem: Problem,
    options: SolveOptions,
    start: Plan | None,
    instance: Instance | None = None,
) -> SolveResult:
    """Search for a plan as the profile of the options says, and for the reason where nothing fits; in a child."""
    profile = options.profile_of(problem)
    if profile is None:
        one = Solve(problem, options, control, start=start, instance=instance)
        control.watch(one.so_far)
        found = one.finish()
    else:

        def watch(best: Callable[[], SolveResult | None]) -> None:
            def of_profile() -> SolveResult | None:
                return None if (known := best()) is None else so_far(problem, profile, known)

            control.watch(of_profile)

        found = solve_profile(problem, options, control, profile, start, watch=watch)
    running = replace(control, counted_s=REASON_S if options.deterministic else None)
    return replace(found, plan=with_reason(problem, found.plan, running))


def best_known(asked: PlanSearch) -> SolveResult:
    """Return the best plan known as a result, verified, without more of a search, or an honest `unknown`."""
    over = threading.Event()
    over.set()
    options = asked.options.model_copy(update={"solver": "auto", "accept": None, "deterministic": False})
    return Solve(asked.problem, options, Control(asked.deadline, over), start=asked.start).finish()
