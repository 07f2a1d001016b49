"""Flags of `memplan plan` alone: the files of a plan, and operations in a better order."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from memplan.api.cli.arguments import PartsFolder, Reorder
from memplan.api.cli.flags import argument, flags_of, keyword, options_given
from memplan.api.cli.from_capability import Given, Local
from memplan.api.cli.local.plan_output import FILES, FLAGS, refuse_outputs, show_plan
from memplan.api.cli.streams import read_as, write
from memplan.capabilities.capability import Control
from memplan.capabilities.plan.plan import read_kept
from memplan.capabilities.plan.planning import is_own_planner
from memplan.capabilities.question import Question
from memplan.capabilities.reading import Reader, TogetherOptions, joined
from memplan.planner.errors import FileError, OptionError
from memplan.planner.formats.memplan_json import write_plan


def _reads(reader: Reader, given: Mapping[str, Any]) -> Question | None:
    """Read no problem where operations pose it only once they are in order; read several as one."""
    together, paths = options_given(TogetherOptions, given), [given["problem"], *(given["more"] or ())]
    if len(paths) > 1 and Path(whole := " ".join(paths)).exists():
        raise FileError(f"{paths[0]}: no such file; did you mean `memplan {shlex.join(['plan', whole])}`?")
    together.check(paths)
    if given["more"]:
        if given["reorder"]:
            raise OptionError("reorder: must not be given with several files: order each, and plan what that writes")
        read = [(path, read_as(path, partial(reader.problem, name=path))) for path in paths]
        reader.imported = None
        reader.application = joined(read, together)
        found: dict[str, Any] = {"problem": reader.application.problem}
        if (keep := given["keep"]) is not None:
            found["keep"] = read_as(keep, lambda data: read_kept(data, keep))
        return found
    if given["parts_folder"] is not None and not given["reorder"]:
        raise OptionError("parts: must be given for several files, or with reorder")
    if given["reorder"]:
        # Imported here, and below: few plans are of another order.
        from memplan.api.cli.local.reordering import check

        check(given)
        reader.name = given["problem"]
        reader.data = read_as(given["problem"], lambda data: data)
        return {}
    return None


def _begin(given: Given, control: Control) -> None:
    if given.flags["reorder"]:
        from memplan.api.cli.local.reordering import reordered

        given.question = reordered(given, control)


def _prepare(given: Given) -> None:
    refuse_outputs(given)
    solver = given.flags["solver"]
    if is_own_planner(solver) and given.server is not None:
        raise OptionError(f"server: must not be given with a planner of your own, got solver {solver}")


def _shows(given: Given, answer: Any) -> bool:
    show_plan(given, answer)
    if (application := given.reader.application) is not None and given.flags["parts_folder"] and answer.placements:
        for name, model in application.models.items():
            path = Path(given.flags["parts_folder"], f"{name}.plan.json")
            write(str(path), write_plan(application.plan_of(name, answer), model))
    if answer.status == "infeasible" and not given.flags["quiet"]:
        # Imported here: most problems fit.
        from memplan.capabilities.cascade.hint import LIMIT_S, cascade_hint

        problem, limit_s = given.question["problem"], given.time.left_s(LIMIT_S)
        hint = given.time.run(lambda: cascade_hint(problem, given.reader, limit_s), [None], is_answered=True)
        if hint is not None:
            given.say(hint)
    return True


LOCAL = Local(
    (
        argument("more", list[str] | None, None, metavar="[FILE]...", help="Models that share the memory with it."),
        *flags_of(TogetherOptions),
        *FLAGS,
        keyword("reorder", Reorder, False),
        keyword("parts_folder", PartsFolder, None),
    ),
    files=FILES,
    reads=_reads,
    begin=_begin,
    prepare=_prepare,
    shows=_shows,
    owns_output=True,
    draws_progress=True,
)
