"""Flags and files that only `memplan explain` has: its stages, and for one release repairs beside the reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic_core import to_json, to_jsonable_python

from memplan.api.cli.flags import flag
from memplan.api.cli.from_capability import Given, Local
from memplan.api.cli.streams import wants_table, write
from memplan.capabilities.capability import Control
from memplan.capabilities.explain.explain import lines
from memplan.capabilities.explain.repairs import answer as repairs
from memplan.planner.errors import OptionError


def _prepare(given: Given) -> None:
    if not given.flags["repairs"]:
        return
    if given.server is not None:
        raise OptionError("repairs: must not be given with server: `memplan repairs` has both")
    given.say("warning: explain --repairs is `memplan repairs` now, and goes with the next release")


def _begin(given: Given, control: Control) -> None:
    """Look for repairs, in half of the time that there is for both."""
    if not given.flags["repairs"]:
        return
    inputs = {each.name: each for each in repairs.CAPABILITY.inputs}
    asked = dict(given.question)
    if (graph := inputs["graph"].absent) is not None and (found := graph(given.reader, asked)) is not None:
        asked["graph"] = found
    options = repairs.RepairsOptions(
        wanted=given.flags["repairs"],
        most_changes=given.flags["most_changes"],
        time_limit_s=given.options.time_limit_s,
        repair_s=max(repairs.RepairsOptions().repair_s, getattr(given.options, "explain_s", 0.0)),
        deterministic=given.options.counts_work,
    )
    within = control.deadline.within(control.deadline.left_s / 2)
    given.prepared = repairs.CAPABILITY.answered(asked, options, replace(control, deadline=within, note=None))


def _shows(given: Given, answer: Any) -> bool:
    """Write the reason and the repairs in one, as the release before did."""
    if (mended := given.prepared) is None:
        return False
    told = to_jsonable_python(answer) | {"repairs": to_jsonable_python(mended)}
    if (of_operations := told["repairs"].pop("repairs_of_operations")) is not None:
        told["repairs_of_operations"] = of_operations
    output, is_table = given.flags["output"], wants_table(given.flags["display"])
    if output is not None or not is_table:
        write(output, to_json(told) + b"\n")
    if is_table:
        rows = (*lines(answer), *repairs.lines(mended))
        write(None, "".join(f"{given.line.completed(line)}\n" for line in rows).encode())
    return True


LOCAL = Local(
    flags=(
        flag("repairs", int, 0, min=0, help="So many repairs as well; `memplan repairs` has more to say."),
        flag("most_changes", int, 3, min=1, max=4, help="The most changes of a repair."),
    ),
    prepare=_prepare,
    begin=_begin,
    shows=_shows,
)
