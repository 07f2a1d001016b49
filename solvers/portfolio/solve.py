"""Solving a problem: one way in, one deadline, one result that passed the verifier."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from memplan.planner.errors import OptionError, shown
from memplan.planner.lint.problems import lint
from memplan.planner.model.plan import Plan, with_problem
from memplan.planner.model.problem import Problem
from memplan.planner.model.problem_fields import PEAK_THEN_COST
from memplan.solvers.portfolio.one_search import Solve
from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S, ProfileChoice, SolveOptions, profile_choice
from memplan.solvers.reference.table import PREFIX
from memplan.solvers.search.control import Control, Deadline
from memplan.solvers.search.result import SolveResult


def solve(
    problem: Problem,
    *,
    time_limit_s: float = DEFAULT_TIME_LIMIT_S,
    solver: str = "auto",
    accept: str | float | None = None,
    deterministic: bool = False,
    seed: int = 0,
    profile: ProfileChoice | None = None,
    start: Plan | None = None,
    is_quick: bool = False,
    control: Control = Control(),
) -> Plan:
    """Plan a problem: the best plan found in time, verified, with a proof or an honest gap.

    Returns within `time_limit_s` plus half a second; a deterministic search, which counts work instead, within ten
    times that, or 30 s. The options are those of SolveOptions. `solver` may be `module:function`, too, a planner of
    the caller's own, which runs in a child process (`memplan.solvers.reference.own`). `start` is a known plan: where it
    is valid for the problem, the answer is no worse; of another one, pools and the order of offsets are kept. A quick
    solve runs the first solver of each stage and no engines; what it leaves undone stops with "time_limit".
    Raises OptionError for a wrong option or a solver that cannot do what the problem requires.
    """
    options = SolveOptions.model_construct(
        time_limit_s=time_limit_s,
        solver=solver,
        accept=accept,
        seed=seed,
        deterministic=deterministic,
        profile=None if profile is None else profile_choice(profile),
    )
    if not isinstance(problem, Problem):
        raise OptionError(f"problem: must be a Problem, as read_problem and Problem(...) make it, got {shown(problem)}")
    options.check()
    if not control.has_deadline and not deterministic:
        control = replace(control, deadline=Deadline.after(time_limit_s))
    findings: dict[str, Any] = {"findings": lint(problem)}
    if ":" in solver and not solver.startswith(PREFIX):
        # Imported here: few callers have a planner of their own.
        from memplan.solvers.reference.own import own_planner

        if deterministic:
            raise OptionError("deterministic: must not be given with a planner of your own, which may do as it likes")
        result = Solve(problem, options, control, planner=own_planner(solver, time_limit_s)).finish()
    else:
        result = solve_request(problem, options, control, start, is_quick)
    answer = result.answer(deterministic)
    if deterministic:
        findings["options"] = options.recorded()
    return with_problem(answer.model_copy(update=findings), problem)


def solve_request(
    problem: Problem,
    options: SolveOptions,
    control: Control = Control(),
    start: Plan | None = None,
    is_quick: bool = False,
) -> SolveResult:
    """Solve as the options and the control say, within half a second of the deadline; raises OptionError."""
    is_one = len(problem.pools) == 1 and not isinstance(options.profile, dict) and problem.objective != PEAK_THEN_COST
    profile = None if is_one else options.profile_of(problem)
    if profile is None:
        return Solve(problem, options, control, start=start, is_quick=is_quick).finish()
    # Imported here: few problems have several pools.
    from memplan.solvers.portfolio.profiles import solve_profile

    return solve_profile(problem, options, control, profile, start, is_quick)
