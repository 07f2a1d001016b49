"""Flags of commands with a plan for an answer: the plan in each format, a picture, a page, a certificate."""

from __future__ import annotations

import os
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import Any

from memplan.api.abandoning import run_in_thread
from memplan.api.cli.arguments import TABLE, CertificateFile, PageFile, PictureFile, PlanFormat, PlanOutput
from memplan.api.cli.flags import flag, keyword
from memplan.api.cli.from_capability import Given
from memplan.api.cli.interrupts import graceful_interrupts
from memplan.api.cli.streams import format_for, is_terminal, refuse_unwritable, warnings, write
from memplan.api.reports.plan_formats import write_plan
from memplan.capabilities.plan.planning import kept_lines
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem

PAGE = keyword("page_file", PageFile, None)
OPEN = flag("opens", bool, False, "--open", help="Open the page in a browser; without --page it is a temporary file.")
FLAGS = (
    keyword("output", PlanOutput, None),
    keyword("display", PlanFormat, None),
    keyword("picture_file", PictureFile, None),
    PAGE,
    OPEN,
    keyword("certificate_file", CertificateFile, None),
)


FILES = ("picture_file", "page_file", "certificate_file")


def refuse_outputs(given: Given) -> None:
    """Raise InputError for a file that cannot be written, or a picture or a plan of no known format."""
    _plan_format(given)
    refuse_unwritable(given.flags["output"])
    if given.flags["picture_file"] is not None:
        # Imported here, and below: few plans are drawn.
        from memplan.api.reports import picture

        picture.format_of_name(given.flags["picture_file"])


def _plan_format(given: Given) -> str:
    display = given.flags["display"]
    return format_for(given.flags["output"], None if display == TABLE else display)


def show_plan(given: Given, answer: Plan) -> bool:
    """Write a plan as it was asked for, what belongs to it, and what people are told of it."""
    flags, problem = given.flags, given.question["problem"]
    is_quiet, output, display = flags["quiet"], flags["output"], flags["display"]
    is_shown = display is None and output is None and not is_quiet and is_terminal(sys.stdout)
    is_table = display == TABLE or is_shown
    answer = _certified(given, problem, answer)
    if output is not None or (not is_table and given.selection is None):
        write(output, write_plan(answer, problem, _plan_format(given)))
    given.time.run(lambda: _draw(given, problem, answer), is_answered=True)
    if not is_quiet:
        given.say(*warnings(answer.findings), *kept_lines(answer))
    if is_table or (is_terminal(sys.stdout) and not is_quiet):
        # Tables for people need a library that a program's caller does not wait for.
        from memplan.api.cli import report

        report.show_plan(problem, answer, sys.stdout if is_table else sys.stderr, given.line.completed)
    elif not is_quiet and answer.explanation is not None:
        given.say(answer.explanation.message)
    return True


def _certified(given: Given, problem: Problem, answer: Plan) -> Plan:
    """Write the certificate of a plan, where a file is given, and return the plan with what it says of that."""
    file = given.flags["certificate_file"]
    if file is None:
        return answer
    # Imported here: few plans are to be proved.
    from memplan.capabilities.certify.certify import certified

    with graceful_interrupts() as cancelled:
        limit_s = given.time.left_s(given.options.time_limit_s)
        plan, found = run_in_thread(lambda: certified(problem, answer, file, limit_s, cancelled), lambda: None)
    if found.text:
        write(file, found.text.encode())
    elif not given.flags["quiet"]:
        given.say(f"no certificate: {found.reason}")
    return plan


def _draw(given: Given, problem: Problem, answer: Any) -> None:
    """Write the picture and the page of a plan, where they are asked for."""
    if (target := given.flags["picture_file"]) is not None:
        from memplan.api.reports import picture

        write(target, picture.draw(problem, answer, picture.format_of_name(target)))
    show_page(given, answer)


def show_page(given: Given, answer: Plan) -> None:
    """Write the page of a plan, and open it in a browser, where that is asked for."""
    file, reader, problem = given.flags["page_file"], given.reader, given.question["problem"]
    if file is None and not given.flags["opens"]:
        return
    # Imported here: few plans are looked at.
    from memplan.api.reports.page.file_page import plan_page
    from memplan.systems.program_names import names_in, names_of_models

    title = problem.name or reader.file_name or ""
    if (application := reader.application) is not None:
        title, names = ", ".join(application.models), names_of_models(application)
    else:
        names = names_in(reader.data, reader.name, problem, reader.options)
    path = _temporary_page() if file is None else file
    write(path, plan_page(problem, answer, title=title, names=names))
    if given.flags["opens"]:
        is_open = webbrowser.open(Path(path).resolve().as_uri())
        if not given.flags["quiet"]:
            given.say(path if is_open else f"{path}: no browser was found; open the file in one")


def _temporary_page() -> str:
    handle, path = tempfile.mkstemp(prefix="memplan-", suffix=".html")
    os.close(handle)
    return path
