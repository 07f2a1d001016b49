"""What `memplan plan` has alone: the files of a plan, several models, and operations in a better order."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
import webbrowser
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from memplan.api.cli.arguments import BROWSER, REORDER, TABLE
from memplan.api.cli.flags import argument, flag
from memplan.api.cli.from_capability import CommandExtras, Invocation
from memplan.api.cli.running import graceful_interrupts, run_in_thread
from memplan.api.cli.streams import (
    CERTIFICATE,
    FOLDER,
    PAGE,
    PICTURE,
    STANDARD,
    is_terminal,
    read_as,
    suffix_of,
    warnings,
    write,
)
from memplan.api.reports.plan_formats import PLAN_FORMATS, write_plan
from memplan.capabilities.capability import Control
from memplan.capabilities.plan.answers import heaps_line, kept_lines, others_lines, problem_in_heaps
from memplan.capabilities.plan.plan import CAPABILITY, read_kept
from memplan.capabilities.plan.planning import is_own_planner
from memplan.capabilities.reading import Reader, joined, refuse_files
from memplan.planner.errors import FileError, OptionError
from memplan.planner.formats import FORMATS, memplan_json
from memplan.planner.model.plan import Plan
from memplan.planner.objects import ObjectsProblem

_TOGETHER = "Of several files, models that may run together, by their names: asr,kws; or none of them."


def _reads(reader: Reader, given: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Read no problem where operations pose it only once they are in order; read several as one."""
    together, paths = given["together"] or (), [given["problem"], *(given["more"] or ())]
    if len(paths) > 1 and Path(whole := " ".join(paths)).exists():
        raise FileError(f"{paths[0]}: no such file; did you mean `memplan {shlex.join(['plan', whole])}`?")
    if together or len(paths) > 1:
        refuse_files(paths, together)
    if given["more"]:
        if given["reorder"]:
            raise OptionError("reorder: must not be given with several files: order each, and plan what that writes")
        read = [(path, read_as(path, partial(reader.problem, name=path))) for path in paths]
        reader.imported = None
        reader.application = joined(read, together)
        question: dict[str, Any] = {"problem": reader.application.problem}
        if (keep := given["keep"]) is not None:
            question["keep"] = read_as(keep, lambda data: read_kept(data, keep))
        return question
    if given["reorder"]:
        # Imported here, and below: few plans are of another order.
        from memplan.api.cli.local.reordering import check

        check(given)
        reader.name = given["problem"]
        reader.data = read_as(given["problem"], lambda data: data)
        return {}
    return None


def _begin(call: Invocation, control: Control) -> None:
    if call.flags["reorder"]:
        from memplan.api.cli.local.reordering import reordered

        call.question = reordered(call, control)


def _prepare(call: Invocation) -> None:
    solver = call.flags["solver"]
    if isinstance(call.question.get("problem"), ObjectsProblem) and call.has_output(PAGE, PICTURE, CERTIFICATE, FOLDER):
        raise OptionError(f"output: must be JSON for shared objects, got {', '.join(call.outputs)}")
    if call.has_output(FOLDER) and call.reader.application is None and not call.flags["reorder"]:
        raise OptionError("output: must be a folder for several files, or with reorder")
    if call.flags["server"] is not None and is_own_planner(solver):
        raise OptionError(f"server: must not be given with a planner of your own, got solver {solver}")


def _page(call: Invocation, answer: Any, _path: str) -> bytes:
    return plan_page(call, call.prepared or answer)


def _parts(call: Invocation, answer: Any, path: str) -> None:
    """Write the plan of each of several models into a folder."""
    application = call.reader.application
    if application is None or not answer.placements:
        return
    for name, model in application.models.items():
        write(str(Path(path, f"{name}.plan.json")), memplan_json.write_plan(application.plan_of(name, answer), model))


def _show(call: Invocation, answer: Any) -> bool:
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
        by_name = next((name for name, module in FORMATS.items() if path.lower().endswith(module.SUFFIX)), "json")
        write(path, write_plan(answer, problem, by_name if display in (None, TABLE) else display))
    if not is_quiet:
        if answer.findings or answer.kept is not None:
            call.say(*warnings(answer.findings), *kept_lines(answer))
        if answer.heaps is not None:
            call.say(heaps_line(answer, answer.heaps))
        if answer.others is not None:
            call.say(*others_lines(answer.others))
    if is_table or (is_terminal(sys.stdout) and not is_quiet):
        # Tables for people need a library that a program's caller does not wait for.
        from memplan.api.cli.report import show_plan

        show_plan(problem, answer, sys.stdout if is_table else sys.stderr, call.line.completed)
    elif not is_quiet and answer.explanation is not None:
        call.say(answer.explanation.message)
    return True


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


def _picture(call: Invocation, answer: Any, _path: str) -> bytes:
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


def _finish(call: Invocation, answer: Any) -> Sequence[str]:
    if not isinstance(answer, Plan):
        return ()
    if call.opens:
        open_page(call, answer)
    if answer.status != "infeasible" or call.flags["quiet"]:
        return ()
    # Imported here: most problems fit.
    from memplan.capabilities.cascade.hint import LIMIT_S, cascade_hint

    hint = cascade_hint(call.question["problem"], call.reader, max(0.01, min(LIMIT_S, call.left_s())))
    return () if hint is None else (hint,)


LOCAL = CommandExtras(
    (
        argument("more", list[str] | None, None, metavar="[FILE]...", help="Models that share the memory with it."),
        flag("together", list[str] | None, None, "--together", metavar="NAMES", help=_TOGETHER),
        REORDER,
    ),
    formats=tuple(dict.fromkeys((*FORMATS, TABLE, *PLAN_FORMATS, BROWSER))),
    forms={module.SUFFIX: lambda _call, answer, _path: CAPABILITY.write(answer) for module in FORMATS.values()},
    beside={PAGE: _page, PICTURE: _picture, CERTIFICATE: lambda *_: None, FOLDER: _parts},
    reads=_reads,
    begin=_begin,
    prepare=_prepare,
    shows=_show,
    finish=_finish,
    draws_progress=True,
)
