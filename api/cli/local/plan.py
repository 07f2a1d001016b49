"""The parts that only `memplan plan` has: files of a plan, several models, operations in a better order."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from memplan.api.cli.flags import BROWSER, ON, TABLE, Flag
from memplan.api.cli.from_capability import CommandExtras, Invocation
from memplan.api.cli.local.beside_plan import open_page, plan_page, plan_picture
from memplan.api.cli.local.several_files import more, read_several, run_each
from memplan.api.cli.streams import FOLDER, PAGE, PICTURE, STANDARD, is_terminal, read_as, suffix_of, warnings, write
from memplan.api.reports.plan_formats import PLAN_FORMATS, write_plan
from memplan.planner.errors import OptionError
from memplan.planner.extensions import extensions
from memplan.planner.formats import FORMATS, memplan_json
from memplan.planner.model.objects import ObjectsProblem
from memplan.planner.model.plan import Plan
from memplan.questions import questions, search
from memplan.questions.plan.answers import heaps_line, kept_lines, others_lines, problem_in_heaps
from memplan.questions.plan.plan import CAPABILITY
from memplan.questions.plan.reason import is_own_planner
from memplan.questions.reading import Reader, ReadOptions

if TYPE_CHECKING:
    from memplan.questions.capability import Control

_BEST = "best"
_OF_OTHERS = {suffix: (row.command, name) for row in questions().values() for suffix, name in row.files.items()}
"""Maps suffixes of files beside a plan to the module and function that write them."""
_ORDER = (
    "best: plan operations in the order that needs the fewest bytes. A,B:"
    f" {ReadOptions.model_fields['order'].description!s}"
)
_TOGETHER = (
    "Plan several files together. Name the models that may run at once, such as asr,kws; with "
    "none, all of them run in turns."
)


def _reads(reader: Reader, given: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Skip reading a problem that depends on the order of operations; read several problems as one."""
    is_reordered = _BEST in (given["order"] or ())
    if is_reordered and given["more"]:
        raise OptionError("order: best must not be given with several files: order each, and plan what that writes")
    if given["more"] or given["together"]:
        return read_several(reader, given)
    if is_reordered:
        search("check-reorder")(given)
        reader.options = reader.options.model_copy(update={"order": ()})
        reader.name = given["problem"]
        reader.data = read_as(given["problem"], lambda data: data)
        return {}
    return None


def _begin(call: Invocation, control: Control) -> None:
    if _BEST in (call.flags["order"] or ()):
        call.question = search("reorder")(call, control)


def _prepare(call: Invocation) -> None:
    solver = call.flags["solver"]
    if isinstance(call.question.get("problem"), ObjectsProblem) and call.has_output(PAGE, PICTURE, FOLDER, *_OF_OTHERS):
        raise OptionError(f"output: must be JSON for shared objects, got {', '.join(call.outputs)}")
    if call.has_output(FOLDER) and call.reader.application is None and call.flags["order"] != [_BEST]:
        raise OptionError("output: must be a folder for several files, or with order best")
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
        write(f"{path.rstrip('/')}/{name}.plan.json", memplan_json.write_plan(application.plan_of(name, answer), model))


def _show(call: Invocation, answer: Any) -> bool:
    """Print a plan in the requested format, and its messages for people."""
    flags, problem = call.flags, call.question["problem"]
    is_quiet, display = flags["quiet"], flags["display"]
    if not isinstance(answer, Plan):
        return False
    if answer.heaps is not None:
        problem = problem_in_heaps(problem, answer)
        call.question = {**call.question, "problem": problem}
    for suffix, (module, function) in _OF_OTHERS.items():
        if call.has_output(suffix):
            answer = call.prepared = getattr(import_module(module), function)(call, answer)
    plans = [path for path in call.outputs if suffix_of(path) not in (PAGE, PICTURE, "/", *_OF_OTHERS)]
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
        from memplan.api.cli.report import show_plan

        completed = call.line.completed if call.reader.problem_of_plan is None else None
        show_plan(problem, answer, sys.stdout if is_table else sys.stderr, completed)
    elif not is_quiet and answer.explanation is not None:
        call.say(answer.explanation.message)
    return True


def _finish(call: Invocation, answer: Any) -> Sequence[str]:
    if not isinstance(answer, Plan):
        return ()
    if call.opens:
        open_page(call, answer)
    if answer.status != "infeasible" or call.flags["quiet"] or "cascade-hint" not in extensions("searches"):
        return ()
    hint = search("cascade-hint")(call.question["problem"], call.reader, max(0.01, call.left_s()))
    return () if hint is None else (hint,)


LOCAL: CommandExtras = CommandExtras(
    (
        more("Models that share the memory with it, or with -o FOLDER/ alone are planned each by itself."),
        Flag("together", multiple=True, metavar="NAMES", help=_TOGETHER),
        Flag("order", multiple=True, metavar="best|A,B", help=_ORDER),
        ON,
    ),
    formats=tuple(dict.fromkeys((*FORMATS, TABLE, *PLAN_FORMATS, BROWSER))),
    forms={module.SUFFIX: lambda _call, answer, _path: CAPABILITY.write(answer) for module in FORMATS.values()},
    beside={PAGE: _page, PICTURE: plan_picture, FOLDER: _parts} | dict.fromkeys(_OF_OTHERS, lambda *_: None),
    runs=lambda line: run_each(line, LOCAL),
    reads=_reads,
    begin=_begin,
    prepare=_prepare,
    shows=_show,
    finish=_finish,
    draws_progress=True,
)
