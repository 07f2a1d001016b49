"""`memplan look`: open the page of a problem, a plan or a model in a browser."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from memplan.api.cli.arguments import Capacities, Inclusive, Quiet, TimeLimit
from memplan.api.cli.interrupts import graceful_interrupts
from memplan.api.cli.streams import STANDARD, problem_in, read_as, read_plan, refuse_unwritable, say, write
from memplan.api.reports.page.file_page import plan_page
from memplan.api.reports.page.plan_view import NO_NAMES, ProgramNames
from memplan.api.reports.page.program_names import program_names
from memplan.capabilities.sizes import with_capacities
from memplan.planner.importers.imported import ImportOptions
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.options import SolveControl
from memplan.solvers.portfolio.solve import solve

LOOK_S = 5.0


def look(
    problem_file: Annotated[str, typer.Argument(metavar="FILE", help="A problem, a model or a dump; - for input.")],
    plan_file: Annotated[
        str | None, typer.Argument(metavar="[PLAN]", help="A plan of it; without one, it is planned.")
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the page here, to keep it.")
    ] = None,
    capacity: Capacities = None,
    inclusive: Inclusive = None,
    time_limit: TimeLimit = LOOK_S,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the page's path, open nothing.")] = False,
    quiet: Quiet = False,
) -> None:
    """Look into a plan: write its page as one HTML file and open it in a browser.

    A plan is looked into as it is, even a wrong one; `memplan verify` says what is wrong with it. Exit status: 0 the
    page is there, 2 wrong input.
    """
    refuse_unwritable(output)
    problem, own_plan, names = read_as(problem_file, lambda data: _read(data, problem_file, inclusive))
    problem = with_capacities(problem, capacity or ())
    if plan_file is not None:
        plan = read_plan(plan_file, problem)
    elif own_plan is not None and not capacity:
        plan = own_plan
        if not quiet:
            say("memplan: the plan is the one in the file; memplan plan makes another")
    else:
        plan = _planned(problem, time_limit)
    name = "standard input" if problem_file == STANDARD else Path(problem_file).name
    path = _target(output)
    write(path, plan_page(problem, plan, title=problem.name or name, names=names))
    typer.echo(path)
    if not no_browser and not webbrowser.open(Path(path).resolve().as_uri()) and not quiet:
        say("memplan: no browser was found; open the file in one")


def _read(data: bytes, path: str, inclusive: bool | None) -> tuple[Problem, Plan | None, ProgramNames]:
    """Return the problem in a file, the plan that the file has itself, if it has one, and the names it gives."""
    problem, imported = problem_in(data, path, ImportOptions(facts=True), inclusive)
    if imported is None:
        return problem, None, NO_NAMES
    return problem, imported.own_plan, program_names(imported)


def _planned(problem: Problem, time_limit_s: float) -> Plan:
    with graceful_interrupts() as cancelled:
        return solve(problem, time_limit_s=time_limit_s, control=SolveControl(cancelled=cancelled))


def _target(output: str | None) -> str:
    """Return the file to write: the one that is asked for, or a new one among temporary files."""
    if output is not None:
        return output
    handle, path = tempfile.mkstemp(prefix="memplan-", suffix=".html")
    os.close(handle)
    return path
