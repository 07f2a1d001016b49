"""The arguments and options that several commands have, and those of `plan` and `check`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from memplan.api.cli.flags import flag, seconds
from memplan.planner.formats import FORMATS


def seconds_limit(what: str) -> Any:
    """Return the option of a time limit, which takes durations; `what` it is a limit of opens its help."""
    return typer.Option(parser=seconds, metavar="SECONDS", help=f"{what}: 10, 10s, 500ms or 2min.")


TABLE, BROWSER = "table", "page"
"""The ways to show an answer to people: a table, and besides a page in their browser."""
SUFFIXES = " or ".join(module.SUFFIX for module in FORMATS.values())

QUIET = flag("quiet", bool, False, "--quiet", "-q", help="Say nothing but errors to people.")
Host = Annotated[str, typer.Option(help="The address to listen on.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes a free one.")]

SERVER = flag(
    *("server", str | None, None),
    metavar="URL",
    envvar="MEMPLAN_SERVER",
    help="Let this service answer; MEMPLAN_KEY is for its key.",
)
SAVE_PLAN = flag("save_plan", str | None, None, metavar="PLAN", help=f"Write the plan here, too: {SUFFIXES}.")
SAVE_BASELINE = flag(
    "save_baseline", str | None, None, metavar="FILE", help="Write problem and plan here, whatever the check says."
)


class ListDisplay(StrEnum):
    """The ways to show a list: for programs, or for people."""

    json = "json"
    table = "table"


_AS_LIST = "A table on a terminal, else JSON."
ListFormat = Annotated[ListDisplay | None, typer.Option("--format", help=_AS_LIST)]
