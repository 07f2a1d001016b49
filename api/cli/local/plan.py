"""What `memplan plan` has alone: the files of a plan, several models, and operations in a better order."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from memplan.api.cli.arguments import BROWSER, REORDER, TABLE
from memplan.api.cli.flags import argument, flag
from memplan.api.cli.from_capability import CommandExtras, Invocation
from memplan.api.cli.local.plan_output import open_page, plan_page, plan_picture, show_plan
from memplan.api.cli.streams import CERTIFICATE, FOLDER, PAGE, PICTURE, read_as, write
from memplan.api.reports.plan_formats import PLAN_FORMATS
from memplan.capabilities.capability import Control
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
    beside={PAGE: _page, PICTURE: plan_picture, CERTIFICATE: lambda *_: None, FOLDER: _parts},
    reads=_reads,
    begin=_begin,
    prepare=_prepare,
    shows=show_plan,
    finish=_finish,
    draws_progress=True,
)
