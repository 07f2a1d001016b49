"""`memplan look`: open the page of a problem, a plan or a model in a browser."""

from __future__ import annotations

import inspect
import os
import tempfile
import webbrowser
from pathlib import Path
from typing import Any

import typer

from memplan.api.cli.arguments import Quiet, TimeLimit
from memplan.api.cli.flags import argument, flag, flags_of, keyword, options_given, signed
from memplan.api.cli.interrupts import graceful_interrupts
from memplan.api.cli.streams import STANDARD, read_as, read_plan, refuse_unwritable, say, write
from memplan.api.reports.page.file_page import plan_page
from memplan.capabilities.capability import Control
from memplan.capabilities.plan.plan import PlanOptions
from memplan.capabilities.plan.planning import planned
from memplan.capabilities.reading import Reader, ReadOptions
from memplan.systems.program_names import names_read

LOOK_S = 5.0


def _look(**given: Any) -> None:
    """Look into a plan: write its page as one HTML file and open it in a browser.

    A plan is looked into as it is, even a wrong one; `memplan verify` says what is wrong with it. Exit status: 0 the
    page is there, 2 wrong input.
    """
    source, quiet = given["file"], given["quiet"]
    refuse_unwritable(given["output"])
    reader = Reader(options_given(ReadOptions, given))
    problem = read_as(source, lambda data: reader.problem(data, source))
    own_plan = None if reader.imported is None else reader.imported.own_plan
    if given["plan"] is not None:
        plan = read_plan(given["plan"], problem)
    elif own_plan is not None and not reader.options.capacity:
        plan = own_plan
        if not quiet:
            say("memplan: the plan is the one in the file; memplan plan makes another")
    else:
        options = PlanOptions(time_limit_s=given["time_limit"])
        with graceful_interrupts() as cancelled:
            plan = planned(problem, options, Control(cancelled=cancelled).begun(options), reason_s=0)
    name = "standard input" if source == STANDARD else Path(source).name
    names = names_read(reader.data, reader.imported)
    path = _target(given["output"])
    write(path, plan_page(problem, plan, title=problem.name or name, names=names))
    typer.echo(path)
    if not given["no_browser"] and not webbrowser.open(Path(path).resolve().as_uri()) and not quiet:
        say("memplan: no browser was found; open the file in one")


def _target(output: str | None) -> str:
    """Return the file to write: the one that is asked for, or a new one among temporary files."""
    if output is not None:
        return output
    handle, path = tempfile.mkstemp(prefix="memplan-", suffix=".html")
    os.close(handle)
    return path


look = signed(
    _look,
    [
        argument(
            "file", str, inspect.Parameter.empty, metavar="FILE", help="A problem, a model or a dump; - for input."
        ),
        argument("plan", str | None, None, metavar="[PLAN]", help="A plan of it; without one, it is planned."),
        flag("output", str | None, None, "--output", "-o", metavar="FILE", help="Write the page here, to keep it."),
        *flags_of(ReadOptions),
        keyword("time_limit", TimeLimit, LOOK_S),
        flag("no_browser", bool, False, "--no-browser", help="Print the page's path, open nothing."),
        keyword("quiet", Quiet, False),
    ],
)
