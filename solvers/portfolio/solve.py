"""Solving a problem: one way in, one deadline, one result that passed the verifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from memplan.planner.errors import OptionError, shown
from memplan.planner.lint.problems import lint
from memplan.planner.model.plan import Plan
from memplan.planner.model.planned import with_problem
from memplan.planner.model.problem import Problem, Profile
from memplan.solvers.portfolio.one_search import solve_objective
from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S, SolveControl, SolveOptions
from memplan.solvers.reference.own import own_planner
from memplan.solvers.search.deadline import Deadline
from memplan.solvers.search.result import SolveResult

_UNSTEERED = SolveControl()


def solve(
    problem: Problem,
    *,
    time_limit_s: float = DEFAULT_TIME_LIMIT_S,
    solver: str = "auto",
    accept: str | float | None = None,
    deterministic: bool = False,
    seed: int = 0,
    profile: Profile | None = None,
    minimise: Mapping[str, float] | None = None,
    max_slowdown: float | None = None,
    control: SolveControl = _UNSTEERED,
) -> Plan:
    """Plan a problem: the best plan found in time, verified, with a proof or an honest gap.

    Returns within `time_limit_s` plus half a second; a deterministic search, which counts work instead, within ten
    times that, or 30 s. The options are those of SolveOptions; `control` is a SolveControl. `solver` may be
    `module:function`, too, a planner of the caller's own, which runs in a child process
    (`memplan.solvers.reference.own`).
    Raises OptionError for a wrong option or a solver that cannot do what the problem requires.
    """
    options = SolveOptions.model_construct(
        time_limit_s=time_limit_s,
        solver=solver,
        accept=accept,
        seed=seed,
        deterministic=deterministic,
        profile=profile,
        minimise=None if minimise is None else dict(minimise),
        max_slowdown=max_slowdown,
    )
    if not isinstance(problem, Problem):
        raise OptionError(f"problem: must be a Problem, as read_problem and Problem(...) make it, got {shown(problem)}")
    options.check()
    if control.deadline is None and not deterministic:
        control = replace(control, deadline=Deadline.after(time_limit_s))
    findings = {"findings": lint(problem)}
    search = solve_request
    if ":" in solver and (planner := own_planner(solver, time_limit_s)) is not None:
        if deterministic:
            raise OptionError("deterministic: must not be given with a planner of your own, which may do as it likes")
        search, control = solve_objective, replace(control, planner=planner)
    answer = search(problem, options, control).answer(deterministic)
    return with_problem(answer.model_copy(update={**findings, "options": options.recorded()}), problem)


def solve_request(problem: Problem, options: SolveOptions, control: SolveControl = _UNSTEERED) -> SolveResult:
    """Solve as the options and the control say, within half a second of the deadline; raises OptionError."""
    profile = options.profile_of(problem)
    if profile is None:
        return solve_objective(problem, options, control)
    # Imported here: few problems have several pools.
    from memplan.solvers.portfolio.profiles import solve_profile

    return solve_profile(problem, options, control, profile)
