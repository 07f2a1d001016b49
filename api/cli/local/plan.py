"""`memplan plan`: plan one file or several, also with operations reordered, and write the output files."""

import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memplan.api.cli.advice import CommandLine
from memplan.api.cli.asking import Call, answer_call, begin_call, call_control, end_call, write_answer, write_beside
from memplan.api.cli.flags import BROWSER, ON, PROVE, TABLE, Flag
from memplan.api.cli.local.beside_plan import open_page, plan_page, plan_picture
from memplan.api.cli.local.several_files import files_argument, has_several, read_several, run_each
from memplan.api.cli.question_command import command_of
from memplan.api.cli.reading import read_files
from memplan.api.cli.streams import (
    CERTIFICATE,
    FOLDER,
    PAGE,
    PICTURE,
    STANDARD,
    is_terminal,
    read_as,
    suffix_of,
    warning_lines,
    write_output,
)
from memplan.api.reports.plan_formats import PLAN_FORMATS, write_plan
from memplan.planner.errors import OptionError
from memplan.planner.extensions import Hook
from memplan.planner.foreign.arena import rules_of
from memplan.planner.formats import FORMATS, memplan_json
from memplan.planner.model.objects import ObjectsProblem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.questions.plan.answers import heaps_line, place_lines, problem_in_heaps
from memplan.questions.plan.plan import QUESTION
from memplan.questions.plan.reason import is_own_planner
from memplan.questions.question import Control
from memplan.questions.reading import Reader, ReadOptions

_reorder_file: Hook[[Call, Control], Mapping[str, Any]] = Hook("reorder-file")
_check_reordering: Hook[[Mapping[str, Any]], None] = Hook("check-reordering")
_in_place_hint: Hook[[Problem, Reader], str | None] = Hook("in-place-hint")
_cascade_hint: Hook[[Problem, Reader, float], str | None] = Hook("cascade-hint")
_BEST = "best"
_BESIDE = (PAGE, PICTURE, FOLDER, CERTIFICATE)
_ORDER = (
    "best: plan operations in the order that needs the fewest bytes. A,B:"
    f" {ReadOptions.model_fields['order'].description!s}"
)
_TOGETHER = (
    "Plan several files together. Name the models that may run at once, such as asr,kws; with "
    "none, all of them run in turns."
)

_PERSISTENT = (
    "With --together, a buffer that keeps its bytes while other models run, such as a/state; variables of a model,"
    " constants that are planned, and copies keep theirs in any case."
)


@command_of(
    QUESTION,
    files_argument("Models that share the memory with it, or with -o FOLDER/ alone are planned each by itself."),
    Flag("together", multiple=True, metavar="NAMES", help=_TOGETHER),
    Flag("persistent", multiple=True, metavar="MODEL/BUFFER", help=_PERSISTENT),
    Flag("order", multiple=True, metavar="best|A,B", help=_ORDER),
    ON,
    PROVE,
    formats=tuple(dict.fromkeys((*FORMATS, TABLE, *PLAN_FORMATS, BROWSER))),
    forms=tuple(module.SUFFIX for module in FORMATS.values()),
    beside=_BESIDE,
)
def plan(line: CommandLine) -> int:
    """Plan one problem, several models that share memory, or several files independently of each other."""
    if has_several(line):
        return run_each(line)
    call = begin_call(line)
    with call.reading_guard():
        call.values = call.run_in_time(lambda: _read_inputs_of(call))
    problem, server, solver = (call.values.get("problem"), call.flags["server"], call.flags["solver"])
    if isinstance(problem, ObjectsProblem) and call.has_output(*_BESIDE):
        raise OptionError(f"output: must be JSON for shared objects, got {', '.join(call.outputs)}")
    if call.has_output(FOLDER) and call.reader.application is None and call.flags["order"] != [_BEST]:
        raise OptionError("output: must be a file, because only several files or --order best produce a folder")
    if server is not None and is_own_planner(solver):
        raise OptionError(f"server: must not be given with a planner of your own, got solver {solver}")
    if call.flags["prove"] and (server is None or isinstance(problem, ObjectsProblem)):
        rule = "applies only with --server and a problem with pools; -o FILE.proof writes a certificate"
        raise OptionError(f"prove: {rule}")
    with call_control(call, draws=True) as control:
        if _BEST in (call.flags["order"] or ()):
            with call.reading_guard():
                call.values = call.run_in_time(lambda: _reorder_file(call, control))
        answer = answer_call(call, control)
    if not isinstance(answer, Plan):
        write_answer(call, answer)
        return end_call(call, answer)
    answer = _show_plan(call, answer)
    write_answer(call, answer, is_written=True)
    pictures = {PAGE: lambda _path: plan_page(call, answer), PICTURE: lambda _path: plan_picture(call, answer)}
    write_beside(call, {**pictures, FOLDER: lambda path: _write_parts(call, answer, path)})
    if call.opens:
        call.writing(lambda: open_page(call, answer))
    if answer.peak is not None and call.reader.imported is not None and _in_place_hint.is_there:
        hint = call.writing(lambda: _in_place_hint(call.values["problem"], call.reader))
        call.said += [] if hint is None else [hint]
    if answer.peak is not None and len(answer.pools) > 1 and call.reader.imported and rules_of(call.reader.data):
        call.said += _next_steps(call)
    if answer.status == "infeasible" and not call.flags["quiet"] and _cascade_hint.is_there:
        left_s = max(0.01, call.left_s())
        hint = call.writing(lambda: _cascade_hint(call.values["problem"], call.reader, left_s))
        call.said += [] if hint is None else [hint]
    return end_call(call, answer)


def _read_inputs_of(call: Call) -> Mapping[str, Any]:
    """Read the command's inputs: one problem, or several models joined as one problem.

    With `--order best`, return no inputs and only store the file's bytes in the reader, for the search of an order.
    """
    reader, given = call.reader, call.flags
    is_reordered = _BEST in (given["order"] or ())
    if is_reordered and given["more"]:
        raise OptionError("order: best must not be given with several files: order each, then plan the written files")
    if given["more"] or given["together"] or given["persistent"]:
        return read_several(reader, given)
    if is_reordered:
        _check_reordering(given)
        reader.options = reader.options.model_copy(update={"order": ()})
        reader.name = given["problem"]
        reader.data = read_as(given["problem"], lambda data: data)
        return {}
    return read_files(call.line, reader)


def _write_parts(call: Call, answer: Plan, path: str) -> None:
    application = call.reader.application
    if application is None or not answer.placements:
        return
    for name, model in application.models.items():
        write_output(
            f"{path.rstrip('/')}/{name}.plan.json", memplan_json.write_plan(application.plan_of(name, answer), model)
        )


def _next_steps(call: Call) -> Iterator[str]:
    plans = [path for path in call.outputs if path.endswith(".json")]
    name = str(call.files["problem"])
    way = f"`memplan convert {shlex.join([name, *plans[:1]])} -o {Path(name).stem}_memory.c`" if plans else "C"
    yield f"the runtime itself has one arena; your program calls the kernels in several, with the addresses of {way}"


def _write_plan(call: Call, path: str, answer: Plan, problem: Problem) -> None:
    """Write a plan's file in the form of its suffix; another `--format` is followed, and said."""
    by_name = next((name for name, module in FORMATS.items() if path.lower().endswith(module.SUFFIX)), "json")
    display = by_name if call.selection is not None else call.flags["display"]
    form = by_name if display in (None, TABLE) else display
    write_output(path, write_plan(answer, problem, form))
    if form == "csv" and problem.read_with and call.reader.imported is not None:
        call.said.append(
            f"{path} cannot say how the model was read: give {call.line.words_of(problem.read_with)} with it"
        )
    if PLAN_FORMATS[form].media_type != PLAN_FORMATS[by_name].media_type and Path(path).suffix in (".json", ".csv"):
        call.say(f"warning: {path} is written as {form}, as --format says, not as its suffix says")


def _show_plan(call: Call, answer: Plan) -> Plan:
    """Write a plan to the output files and the terminal; return the plan, with a reference to any certificate."""
    flags, problem = call.flags, call.values["problem"]
    is_quiet, display = flags["quiet"], flags["display"]
    if answer.heaps is not None:
        problem = problem_in_heaps(problem, answer)
        call.values = {**call.values, "problem": problem}
    if call.has_output(CERTIFICATE):
        from memplan.api.cli.local.certify import certified_plan

        answer = certified_plan(call, answer)
    plans = [path for path in call.outputs if suffix_of(path) not in _BESIDE]
    is_table = display == TABLE or (display is None and not plans and not is_quiet and is_terminal(sys.stdout))
    if not plans and not is_table and call.selection is None:
        plans = [STANDARD]
    for path in plans:
        _write_plan(call, path, answer, problem)
    if not is_quiet:
        if answer.findings or answer.kept is not None:
            call.say(*warning_lines(answer.findings), *place_lines(answer))
        if flags["profile"] is not None and answer.profile is None and len(problem.pools) == 1:
            call.say("warning: no-effect: profile: the problem has one pool, so the option has no effect")
        if answer.heaps is not None:
            call.say(heaps_line(answer, answer.heaps))
    if is_table or (is_terminal(sys.stdout) and not is_quiet):
        from memplan.api.cli.report import show_plan

        completed = call.line.complete if call.reader.problem_of_plan is None else None
        show_plan(problem, answer, sys.stdout if is_table else sys.stderr, completed)
    elif not is_quiet and answer.explanation is not None:
        call.say(answer.explanation.message)
    return answer
