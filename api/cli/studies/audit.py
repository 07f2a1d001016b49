"""`memplan audit`: a plan of whatever origin: valid, how far from the best, what is in the way, and what moves help."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer
from pydantic_core import to_json

from memplan.api.checks.audited import Audited, read_audited, read_plan_of
from memplan.api.cli.arguments import Capacities, ListFormat, Quiet, refuse_standard_twice, seconds_limit
from memplan.api.cli.interrupts import INTERRUPTED, graceful_interrupts
from memplan.api.cli.model_options import AlignmentOfModel, Dims, ScratchOfModel, ViewsOfModel, model_options
from memplan.api.cli.progress import run_in_thread
from memplan.api.cli.streams import read_as, refuse_unwritable, say, wants_table, write
from memplan.api.reports.audits import facts, lines
from memplan.api.reports.plan_formats import write_plan
from memplan.api.reports.sizes import with_capacities
from memplan.planner.model.finding import Finding
from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S, SolveControl
from memplan.solvers.studies.audit.audit import audit as audit_plan

VIOLATED = 3


def audit(
    problem_file: Annotated[
        str, typer.Argument(metavar="PROBLEM|MODEL", help="A problem; a model, dump or table with a plan inside; or -.")
    ],
    plan_file: Annotated[
        str | None, typer.Argument(metavar="[PLAN]", help="A plan, JSON or CSV, a list of offsets, or -.")
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="PLAN", help="Write the plan that the moves lead to here.")
    ] = None,
    capacity: Capacities = None,
    time_limit: Annotated[float, seconds_limit("Seconds for the audit")] = DEFAULT_TIME_LIMIT_S,
    dim: Dims = None,
    views: ViewsOfModel = None,
    alignment: AlignmentOfModel = None,
    scratch: ScratchOfModel = None,
    shown: ListFormat = None,
    quiet: Quiet = False,
) -> None:
    """Audit a plan: its violations, bytes too much, what ends above the best peak and on what it stands, moves.

    Exit status: 0 the plan is valid, 3 it is not, 2 wrong input, 130 interrupted.
    """
    refuse_unwritable(output)
    if plan_file is not None:
        refuse_standard_twice(problem_file, plan_file)
    options = model_options(dim, views, alignment, scratch)
    read = partial(read_audited, name=problem_file, options=options, needs_plan=plan_file is None)
    found = read_as(problem_file, read)
    problem = with_capacities(found.problem, capacity or ())
    plan = found.plan
    if plan_file is not None:
        plan = read_as(plan_file, lambda data: read_plan_of(data, problem, plan_file))
    assert plan is not None
    if not quiet:
        _warn(found)
    with graceful_interrupts() as cancelled:
        control = SolveControl(cancelled=cancelled)
        told = run_in_thread(lambda: audit_plan(problem, plan, time_limit_s=time_limit, control=control), lambda: None)
    if output is not None and told.better is not None:
        write(output, write_plan(told.better, problem, "json"))
    if wants_table(shown):
        write(None, "".join(f"{line}\n" for line in lines(told)).encode())
    else:
        write(None, to_json(facts(told)) + b"\n")
    raise typer.Exit(INTERRUPTED if cancelled.is_set() else 0 if told.valid else VIOLATED)


def _warn(found: Audited) -> None:
    for finding in found.warnings:
        say(f"memplan: warning: {finding.message if isinstance(finding, Finding) else finding}")
