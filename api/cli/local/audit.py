"""Flags and files that only `memplan audit` has: the better plan in a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memplan.api.cli.flags import flag
from memplan.api.cli.from_capability import Given, Local
from memplan.api.cli.streams import refuse_unwritable, write
from memplan.api.reports.plan_formats import write_plan

_BETTER = "Write the plan that the moves lead to here."


def _prepare(given: Given) -> None:
    refuse_unwritable(given.flags["output"])
    if given.flags["output"] is not None:
        given.change(with_better=True)


def _finish(given: Given, answer: Any) -> Sequence[str]:
    if answer.better is not None and given.flags["output"] is not None:
        write(given.flags["output"], write_plan(answer.better, given.question["problem"], "json"))
    return ()


LOCAL = Local(
    flags=(flag("output", str | None, None, "--output", "-o", metavar="PLAN", help=_BETTER),),
    prepare=_prepare,
    finish=_finish,
    owns_output=True,
)
