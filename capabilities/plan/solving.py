"""A plan as Python programs ask for it: `memplan.solve`."""

from __future__ import annotations

from dataclasses import replace

from memplan.capabilities.capability import Control
from memplan.capabilities.plan.planning import REASON_S, with_reason
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio import solve as portfolio
from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S, ProfileChoice
from memplan.solvers.search.control import Deadline


def solve(
    problem: Problem,
    *,
    time_limit_s: float = DEFAULT_TIME_LIMIT_S,
    solver: str = "auto",
    accept: str | float | None = None,
    deterministic: bool = False,
    seed: int = 0,
    profile: ProfileChoice | None = None,
    explain_s: float = REASON_S,
    start: Plan | None = None,
    control: Control = Control(),
) -> Plan:
    """Plan a problem: the best plan found in time, verified, with a proof or an honest gap.

    Returns within `time_limit_s` plus half a second; a deterministic search, which counts work instead, within ten
    times that, or 30 s. The options are those of PlanOptions: where nothing fits, `explain_s` of the time are for the
    reason. `start` is a known plan, than which the answer is no worse. `solver` may be
    `module:function`, too, a planner of the caller's own, which runs in a child process.
    Raises OptionError for a wrong option or a solver that cannot do what the problem asks.
    """
    deadline = control.deadline if control.has_deadline else Deadline.after(time_limit_s)
    answer = portfolio.solve(
        problem,
        time_limit_s=time_limit_s,
        solver=solver,
        accept=accept,
        deterministic=deterministic,
        seed=seed,
        profile=profile,
        start=start,
        control=control if deterministic else replace(control, deadline=deadline),
    )
    running = Control(deadline, control.cancelled, counted_s=time_limit_s if deterministic else None)
    return with_reason(problem, answer, running, explain_s)
