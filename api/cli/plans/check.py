"""`memplan check`: for build systems, check that a plan stays within budgets and near its baseline."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, cast

import typer

from memplan.api.checks.budgets import Tolerance, read_budgets
from memplan.api.checks.check import CheckResult
from memplan.api.checks.check import check as check_plan
from memplan.api.checks.planning import plan_within
from memplan.api.checks.reports import REPORTS
from memplan.api.cli.arguments import (
    BaselineFile,
    BaselineProblem,
    Budgets,
    Capacities,
    CheckedPlan,
    Deterministic,
    Inclusive,
    PlanOutput,
    ProblemFile,
    ProfileName,
    Quiet,
    SaveBaseline,
    ToleranceOption,
    seconds_limit,
)
from memplan.api.cli.interrupts import INTERRUPTED, graceful_interrupts
from memplan.api.cli.model_options import AlignmentOfModel, Dims, ScratchOfModel, ViewsOfModel, model_options
from memplan.api.cli.progress import run_in_thread
from memplan.api.cli.streams import (
    STANDARD,
    format_for,
    read_as,
    read_plan,
    read_problem,
    refuse_unwritable,
    say,
    warn,
    write,
)
from memplan.api.reports.plan_formats import write_plan
from memplan.capabilities.plans.baseline import Baseline, read_baseline, write_baseline
from memplan.capabilities.sizes import with_capacities
from memplan.planner.errors import OptionError, PlanError, shown
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem, Profile
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S, SolveControl
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.studies.explanation.explain import with_reason
from memplan.solvers.studies.explanation.options import ExplainOptions

BROKEN = 1


def check(
    problem_file: ProblemFile,
    budget: Budgets = None,
    baseline: BaselineFile = None,
    baseline_problem: BaselineProblem = None,
    tolerance: ToleranceOption = "0",
    plan_file: CheckedPlan = None,
    reports: Annotated[
        list[str] | None,
        typer.Option("--report", metavar="REPORT", help=f"Write a report: {', '.join(REPORTS)}; repeat it."),
    ] = None,
    output: PlanOutput = None,
    save_baseline: SaveBaseline = None,
    capacity: Capacities = None,
    inclusive: Inclusive = None,
    time_limit: Annotated[float, seconds_limit("Seconds for a plan")] = DEFAULT_TIME_LIMIT_S,
    deterministic: Deterministic = False,
    profile: ProfileName = None,
    dim: Dims = None,
    views: ViewsOfModel = None,
    alignment: AlignmentOfModel = None,
    scratch: ScratchOfModel = None,
    quiet: Quiet = False,
) -> None:
    """Check what a plan uses against budgets and a baseline, and say which buffers made a peak grow.

    The result goes to the reports or, without any, to standard output as JSON; sentences go to standard error.
    Exit status: 0 within, 1 over budget, grown beyond the tolerance or no plan, 2 wrong input, 130 interrupted.
    """
    _refuse_unknown(reports or ())
    written = format_for(output, None)
    for written_to in (*(reports or []), output, save_baseline):
        refuse_unwritable(written_to)
    allowed = Tolerance.read(tolerance)
    found_problem = read_problem(problem_file, model_options(dim, views, alignment, scratch), inclusive)
    problem, budgets = read_budgets(budget or (), with_capacities(found_problem, capacity or ()))
    then = _read_baseline(baseline, baseline_problem, problem, inclusive)
    with graceful_interrupts() as cancelled:
        if plan_file is None:
            control = SolveControl(cancelled=cancelled)
            named = cast(Profile | None, profile)
            solve_one = partial(
                solve, time_limit_s=time_limit, deterministic=deterministic, profile=named, control=control
            )
            reason = ExplainOptions(cancelled=cancelled, deterministic=deterministic)
            planning = partial(plan_within, problem, budgets, solve_one)
            plan = run_in_thread(lambda: with_reason(problem, planning(), reason), lambda: None)
        else:
            plan = _read_valid(plan_file, problem_file, problem)
        if cancelled.is_set():
            raise typer.Exit(INTERRUPTED)
    found = check_plan(problem_file, problem, plan, budgets, then, allowed)
    _write_reports(found, reports or [])
    if output is not None:
        write(output, write_plan(plan, problem, written))
    if save_baseline is not None and found.pools:
        write(save_baseline, write_baseline(problem, plan))
    if not quiet:
        _tell(found)
    raise typer.Exit(0 if found.passed else BROKEN)


def _read_valid(path: str, problem_file: str, problem: Problem) -> Plan:
    if path == problem_file == STANDARD:
        raise OptionError("plan: must be a file where PROBLEM is standard input, got -")
    plan = read_plan(path, problem)
    if violations := verify(problem, plan):
        raise PlanError(f"{path}: must be valid: {violations[0].rule}: {violations[0].message}")
    return plan


def _read_baseline(path: str | None, problem_path: str | None, now: Problem, inclusive: bool | None) -> Baseline | None:
    if path is None:
        if problem_path is not None:
            raise OptionError(f"baseline-problem: must come with a baseline, got {shown(problem_path)}")
        return None
    its = None if problem_path is None else read_problem(problem_path, inclusive=inclusive)
    return read_as(path, lambda data: read_baseline(data, path, now, its))


def _write_reports(found: CheckResult, paths: Sequence[str]) -> None:
    if not paths:
        write(None, REPORTS[".json"](found))
    for path in paths:
        write(path, REPORTS[Path(path).suffix](found))


def _refuse_unknown(reports: Sequence[str]) -> None:
    for path in reports:
        if Path(path).suffix not in REPORTS:
            raise OptionError(f"report: must end in {', '.join(REPORTS)}, got {shown(path)}")


def _tell(found: CheckResult) -> None:
    warn(found.plan.findings)
    if found.plan.reproducible is False:
        say(f"memplan: warning: not reproducible: the search was ended, or changed, by: {found.plan.disturbed_by}")
    for failure in found.failures:
        say(f"memplan: {failure.rule}: {failure.message}")
    for pool in found.pools:
        budget = "" if pool.budget is None else f" of {pool.budget:,}"
        change = "" if pool.before is None else f" ({pool.used - pool.before:+,})"
        say(f"memplan: {pool.name}: {pool.used:,} bytes{budget}{change}")
