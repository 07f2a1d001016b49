"""The files that commands with a plan write: the plan in each format, a picture, a page, a certificate."""

from __future__ import annotations

import os
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import Any

from memplan.api.abandoning import run_in_thread
from memplan.api.cli.arguments import TABLE
from memplan.api.cli.from_capability import Invocation
from memplan.api.cli.interrupts import graceful_interrupts
from memplan.api.cli.streams import CERTIFICATE, PAGE, PICTURE, STANDARD, is_terminal, suffix_of, warnings, write
from memplan.api.reports.plan_formats import write_plan
from memplan.capabilities.plan.answers import heaps_line, kept_lines, others_lines, problem_in_heaps
from memplan.planner.formats import FORMATS
from memplan.planner.model.plan import Plan


def show_plan(call: Invocation, answer: Any) -> bool:
    """Write a plan as it was asked for, and what people are told of it."""
    flags, problem = call.flags, call.question["problem"]
    is_quiet, display = flags["quiet"], flags["display"]
    if not isinstance(answer, Plan):
        return False
    if answer.heaps is not None:
        problem = problem_in_heaps(problem, answer)
        call.question = {**call.question, "problem": problem}
    if call.has_output(CERTIFICATE):
        answer = _certified(call, answer)
        call.prepared = answer
    plans = [path for path in call.outputs if suffix_of(path) not in (PAGE, PICTURE, CERTIFICATE, "/")]
    is_table = display == TABLE or (display is None and not plans and not is_quiet and is_terminal(sys.stdout))
    if not plans and not is_table and call.selection is None:
        plans = [STANDARD]
    for path in plans:
        write(path, write_plan(answer, problem, plan_format(path, display)))
    if not is_quiet:
        if answer.findings or answer.kept is not None:
            call.say(*warnings(answer.findings), *kept_lines(answer))
        if answer.heaps is not None:
            call.say(heaps_line(answer, answer.heaps))
        if answer.others is not None:
            call.say(*others_lines(answer.others))
    if is_table or (is_terminal(sys.stdout) and not is_quiet):
        # Tables for people need a library that a program's caller does not wait for.
        from memplan.api.cli import report

        report.show_plan(problem, answer, sys.stdout if is_table else sys.stderr, call.line.completed)
    elif not is_quiet and answer.explanation is not None:
        call.say(answer.explanation.message)
    return True


def plan_format(path: str, display: str | None) -> str:
    """Return the format of a plan: what --format says, else by the name of its file, else JSON."""
    if display not in (None, TABLE):
        return str(display)
    return next((name for name, module in FORMATS.items() if path.lower().endswith(module.SUFFIX)), "json")


def _certified(call: Invocation, answer: Plan) -> Plan:
    """Write the certificate of a plan, and return the plan with what it says of that."""
    (path, *_) = (path for path in call.outputs if suffix_of(path) == CERTIFICATE)
    # Imported here: few plans are to be proved.
    from memplan.capabilities.certify.certify import certified

    with graceful_interrupts() as cancelled:
        limit_s = max(0.01, min(call.options.time_limit_s, call.left_s()))
        problem = call.question["problem"]
        plan, found = run_in_thread(lambda: certified(problem, answer, path, limit_s, cancelled))
    if found.text:
        write(path, found.text.encode())
    else:
        call.said.append(f"no certificate: {found.reason}")
    return plan


def plan_picture(call: Invocation, answer: Any, _path: str) -> bytes:
    """Return the picture of a plan."""
    # Imported here, and below: few plans are looked at.
    from memplan.api.reports.picture import draw

    return draw(call.question["problem"], answer)


def plan_page(call: Invocation, answer: Plan) -> bytes:
    """Return the page of a plan."""
    from memplan.api.reports.page.file_page import plan_page
    from memplan.systems.program_names import names_in, names_of_models

    reader, problem = call.reader, call.question["problem"]
    title = problem.name or reader.file_name or ""
    if (application := reader.application) is not None:
        return plan_page(problem, answer, title=", ".join(application.models), names=names_of_models(application))
    names = names_in(reader.data, reader.name, problem, reader.options)
    return plan_page(problem, answer, title=title, names=names)


def open_page(call: Invocation, answer: Plan) -> None:
    """Open the page of a plan in a browser."""
    path = next((path for path in call.outputs if suffix_of(path) == PAGE), None)
    if path is None:
        handle, path = tempfile.mkstemp(prefix="memplan-", suffix=PAGE)
        os.close(handle)
        write(path, plan_page(call, answer))
    is_open = webbrowser.open(Path(path).resolve().as_uri())
    if not is_open:
        call.said.append(f"{path}: no browser was found; open the file in one")
