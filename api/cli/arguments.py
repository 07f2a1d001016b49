"""The arguments and options that several commands have, and those of `plan` and `check`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memplan.api.reports.plan_formats import PLAN_FORMATS
from memplan.planner.errors import shown
from memplan.planner.formats import FORMATS

_SECONDS = {"": 1.0, "s": 1.0, "sec": 1.0, "ms": 1e-3, "m": 60.0, "min": 60.0, "h": 3600.0}


def seconds(text: str | float) -> float:
    """Return the seconds that a duration such as `10`, `10s`, `500ms` or `2min` says."""
    text = str(text)
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz ") or text  # which is no number, or `nan`
    try:
        return float(number) * _SECONDS[text[len(number) :].strip()]
    except (ValueError, KeyError):
        rule = "must be seconds, or a duration such as 10s, 500ms or 2min"
        raise typer.BadParameter(f"{rule}, got {shown(text)}") from None


def seconds_limit(what: str) -> Any:
    """Return the option of a time limit, which takes durations; `what` it is a limit of opens its help."""
    return typer.Option(parser=seconds, metavar="SECONDS", help=f"{what}: 10, 10s, 500ms or 2min.")


TABLE = "table"
"""The way to show a plan to people."""
SUFFIXES = " or ".join(module.SUFFIX for module in FORMATS.values())

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors to people.")]
Host = Annotated[str, typer.Option(help="The address to listen on.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes a free one.")]

Reorder = Annotated[bool, typer.Option("--reorder", help="Plan operations in the order that needs the fewest bytes.")]
ServerUrl = Annotated[
    str | None,
    typer.Option(metavar="URL", envvar="MEMPLAN_SERVER", help="Let this service answer; MEMPLAN_KEY is for its key."),
]

SavePlan = Annotated[str | None, typer.Option(metavar="PLAN", help=f"Write the plan here, too: {SUFFIXES}.")]
SaveBaseline = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write problem and plan here, whatever the check says.")
]


if TYPE_CHECKING:
    PlanDisplay = str
else:  # of each name that the tables of formats have, a member: what typer asks for
    PlanDisplay = StrEnum("PlanDisplay", {name: name for name in dict.fromkeys((*FORMATS, TABLE, *PLAN_FORMATS))})


class ListDisplay(StrEnum):
    """The ways to show a list: for programs, or for people."""

    json = "json"
    table = "table"


PlanFormat = Annotated[
    PlanDisplay | None,
    typer.Option("--format", help="JSON by default; a table is for people; tables, triples, exir as elsewhere."),
]
ListFormat = Annotated[ListDisplay | None, typer.Option("--format", help="A table on a terminal, else JSON.")]
