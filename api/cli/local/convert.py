"""Flags and files that only `memplan convert` has: the file that it writes, and a model's operations or graph in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memplan.api.cli.flags import argument, flag
from memplan.api.cli.from_capability import Given, Local
from memplan.api.cli.streams import format_for, refuse_unwritable, write
from memplan.capabilities.convert.convert import graph_of, operations_of
from memplan.capabilities.sizes import size_text

_OUT = "The file to write, or - for standard output; without one, the answer."
_OPERATIONS = "Write a model's operations, for liveness to read."
_GRAPH = "Write a model's graph of operations, for order to read."


def _prepare(given: Given) -> None:
    given.refuse_remote("operations", "graph")
    refuse_unwritable(given.flags["output"])
    chosen = None if given.flags["format"] is None else str(given.flags["format"])
    wanted = format_for(given.flags["output"], chosen)
    given.change(format=wanted)
    if given.flags["graph"]:
        given.prepared = graph_of(given.reader, wanted)
    elif given.flags["operations"]:
        given.prepared = operations_of(given.reader, wanted)


def _finish(given: Given, _answer: Any) -> Sequence[str]:
    views = None if given.reader.imported is None else given.reader.imported.views
    if views is None or not views.apart:
        return ()
    return (f"{views.apart} views are buffers of their own, of {size_text(views.apart_bytes)} in all",)


def _shows(given: Given, answer: Any) -> bool:
    if given.prepared is None and given.flags["output"] is None:
        return False
    write(given.flags["output"], answer.text.encode() if given.prepared is None else given.prepared)
    return True


LOCAL = Local(
    flags=(
        argument("output", str | None, None, metavar="[OUT]", help=_OUT),
        flag("operations", bool | None, None, "--operations", help=_OPERATIONS),
        flag("graph", bool | None, None, "--graph", help=_GRAPH),
    ),
    prepare=_prepare,
    finish=_finish,
    shows=_shows,
    owns_output=True,
)
