"""The main entry point for solving a problem, with one deadline and one result."""

from dataclasses import replace
from typing import Any

from memplan.planner.errors import InvalidPlanError, OptionError, excerpt
from memplan.planner.errors.did_you_mean import unknown_field
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.lint.problems import lint
from memplan.planner.model.plan import Plan, attach_problem
from memplan.planner.model.problem import Problem
from memplan.planner.model.problem_fields import PEAK_THEN_COST
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.one_search import OneSearch
from memplan.solvers.portfolio.options import SolveOptions, profile_choice
from memplan.solvers.reference.table import is_own_planner
from memplan.solvers.search.control import Control, Deadline


def solve(
    problem: Problem,
    options: SolveOptions = SolveOptions.model_construct(),
    *,
    start: Plan | None = None,
    is_quick: bool = False,
    control: Control = Control(),
    **named: Any,
) -> Plan:
    """Return the best plan of a problem found in time, verified, with a proof or with its gap to the lower bound.

    Returns within the time limit plus half a second. A deterministic search, which counts work, returns within ten
    times the limit or 30 s. Options in `named` take precedence over `options`. The option `solver` may also be
    `module:function`, the caller's own planner, which runs in a child process (`memplan.solvers.reference.own`).

    `start` is a known plan. If it is valid for the problem, the result is at least as good. If it belongs to another
    problem, its pools and the order of its offsets serve as a warm start. A quick solve runs the first solver of each
    stage and no engines. If the search is then unfinished, the stop reason is "time_limit". Raises OptionError for a
    wrong option or a solver that does not support the problem, and InvalidPlanError if the best plan does not pass the
    verifier.
    """
    found = search_plan(problem, options, start=start, is_quick=is_quick, control=control, **named)
    return require_valid_plan(problem, found)


def require_valid_plan(problem: Problem, plan: Plan) -> Plan:
    """Return the plan unchanged if the verifier accepts it; raises InvalidPlanError otherwise."""
    if violations := verify(problem, plan):
        by = "" if plan.solver is None else f" of {plan.solver}"
        raise InvalidPlanError(f"a plan{by} did not pass the verifier: {violations[0].message}")
    return plan


def search_plan(
    problem: Problem,
    options: SolveOptions = SolveOptions.model_construct(),
    *,
    start: Plan | None = None,
    is_quick: bool = False,
    control: Control = Control(),
    **named: Any,
) -> Plan:
    """Return the plan of `solve` without its verification, for callers that change the plan and then verify it."""
    fields = SolveOptions.model_fields
    if unknown := named.keys() - fields.keys():
        raise OptionError(f"solve: {min(unknown)} {unknown_field((min(unknown),), fields)[0]}")
    options = SolveOptions.model_construct(**{name: getattr(options, name) for name in fields} | named)
    if named.get("profile") is not None:
        options = options.model_copy(update={"profile": profile_choice(options.profile)})
    if not isinstance(problem, Problem):
        raise OptionError(f"problem: must be a Problem, such as read_problem returns, got {excerpt(problem)}")
    options.check()
    if not control.has_deadline and not options.deterministic:
        control = replace(control, deadline=Deadline.from_limit(options.time_limit_s))
    if problem.moves:
        return _solve_moves(problem, options, control, start)
    if problem.equal_use:
        return _solve_equal_pools(problem, options, control, start, is_quick)
    is_own = is_own_planner(options.solver)
    is_one = len(problem.pools) == 1 and not isinstance(options.profile, dict) and problem.objective != PEAK_THEN_COST
    profile = None if is_one or is_own else options.profile_of(problem)
    if profile is not None:
        from memplan.solvers.portfolio.profiles import solve_profile

        result = solve_profile(problem, options, control, profile, start, is_quick)
    elif is_own:
        # Few callers have their own planner, so import the module for it only here.
        from memplan.solvers.reference.own import planner_by_name

        if options.deterministic:
            raise OptionError("deterministic: must not be given with your own planner")
        planner = planner_by_name(options.solver, options.time_limit_s)
        result = OneSearch(problem, options, control, planner=planner).finish()
        # A caller's own planner ignores costs, so its profile is "size".
        if len(problem.pools) > 1 and problem.objective == "peak":
            result = replace(result, plan=result.plan.model_copy(update={"profile": "size"}))
    else:
        result = OneSearch(problem, options, control, start=start, is_quick=is_quick).finish()
    update: dict[str, Any] = {"findings": lint(problem)}
    if options.deterministic:
        update["options"] = options.recorded_options()
    return attach_problem(result.answer(options.deterministic).model_copy(update=update), problem)


def _solve_moves(problem: Problem, options: SolveOptions, control: Control, start: Plan | None) -> Plan:
    # Few problems have moves, so import the module for them only here.
    from memplan.solvers.portfolio.moving import solve_moves

    found = solve_moves(problem, options, control, start)
    return attach_problem(
        found.model_copy(update={"problem_hash": problem_hash(problem), "read_with": problem.read_with}), problem
    )


def _solve_equal_pools(
    problem: Problem, options: SolveOptions, control: Control, start: Plan | None, is_quick: bool
) -> Plan:
    from memplan.solvers.formulation.equal_use import EqualPools

    if options.profile is not None:
        raise OptionError(f"profile: must not be given if pools have equal use, got {excerpt(options.profile)}")
    pools = EqualPools(problem)
    one = search_plan(pools.single_pool_problem, options, start=pools.start(start), is_quick=is_quick, control=control)
    return attach_problem(pools.plan(one).model_copy(update={"findings": lint(problem)}), problem)
