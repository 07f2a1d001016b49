"""Flags and files that only `memplan liveness` has: the problem in a file, and a word to people beside the JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memplan.api.cli.flags import flag
from memplan.api.cli.from_capability import Given, Local
from memplan.api.cli.streams import format_for, refuse_unwritable, wants_table, write
from memplan.capabilities.liveness.liveness import lines
from memplan.files import write_problem

_PROBLEM = "Write the problem alone: .json or .csv."


def _prepare(given: Given) -> None:
    given.prepared = format_for(given.flags["output"], None)
    refuse_unwritable(given.flags["output"])


def _finish(given: Given, answer: Any) -> Sequence[str]:
    if given.flags["output"] is not None:
        write(given.flags["output"], write_problem(answer.problem, format=given.prepared))
    return () if wants_table(given.flags["display"]) else list(lines(answer))


def _shows(given: Given, _answer: Any) -> bool:
    return given.flags["output"] is not None and not wants_table(given.flags["display"])


LOCAL = Local(
    flags=(flag("output", str | None, None, "--output", "-o", metavar="PROBLEM", help=_PROBLEM),),
    prepare=_prepare,
    finish=_finish,
    shows=_shows,
    owns_output=True,
)
