"""Flags of `memplan sweep` alone: the points as CSV, and a page in which each opens its plan."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from enum import StrEnum

from memplan.api.cli.arguments import StudyPage
from memplan.api.cli.flags import flag, keyword
from memplan.api.cli.from_capability import Given, Local
from memplan.api.cli.streams import format_for, write
from memplan.capabilities.sweep.sweep import Sweep, SweepRow
from memplan.planner.errors import OptionError
from memplan.planner.model.problem import Problem

_COLUMNS = ("status", "cost", "cost_lower_bound", "peak", "lower_bound")


class SweepDisplay(StrEnum):
    """The ways to show a sweep."""

    json = "json"
    csv = "csv"
    table = "table"


def _prepare(given: Given) -> None:
    format_for(given.flags["output"], None)
    if given.flags["page_file"] is not None and given.server is not None:
        raise OptionError("page: must not be given with a server, which sends no plans of a sweep")


def _finish(given: Given, answer: Sweep) -> Sequence[str]:
    if given.flags["page_file"] is not None:
        write(given.flags["page_file"], _page(given.question["problem"], answer))
    return ()


def _shows(given: Given, answer: Sweep) -> bool:
    display = given.flags["display"]
    if (display or format_for(given.flags["output"], None)) != "csv":
        return False
    write(given.flags["output"], as_csv(answer))
    return True


def as_csv(answer: Sweep) -> bytes:
    """Write the points as a table, with what is used of each pool and its bound in columns of their own."""
    text = io.StringIO(newline="")
    names = [use.name for use in answer.points[0].pools] if answer.points else []
    pools = list(answer.points[0].sizes) if answer.points else []
    swept = ["size"] if len(pools) == 1 else [f"{name} size" for name in pools]
    swept += [name for name in ("alignment", "changes") if answer.points and getattr(answer.points[0], name)]
    out = csv.writer(text, lineterminator="\n")
    out.writerow([*swept, *_COLUMNS, *(f"{name} {what}" for name in names for what in ("used", "lower bound"))])
    for point in answer.points:
        uses = (value for use in point.pools for value in (use.used, use.lower_bound))
        others = ([point.alignment] if point.alignment else []) + ([_text(point)] if point.changes else [])
        out.writerow([*point.sizes.values(), *others, *(getattr(point, name) for name in _COLUMNS), *uses])
    return text.getvalue().encode()


def _text(point: SweepRow) -> str:
    return ", ".join(change.text for change in point.changes)


def _page(problem: Problem, answer: Sweep) -> bytes:
    """Return the page of a sweep, in which each point opens its plan: over the sum of the sizes, or over its number."""
    # Imported here: few sweeps are looked at.
    from memplan.api.reports.page.studies import sweep_page

    pairs = enumerate(zip(answer.points, answer.plans or (), strict=True))
    rows = [(sum(point.sizes.values()) or k, point.problem_of(problem), plan) for k, (point, plan) in pairs]
    pools = answer.points[0].sizes if answer.points else {}
    return sweep_page(problem.name or "sweep", " + ".join(pools) or "combination", rows)


LOCAL = Local(
    (
        flag("display", SweepDisplay | None, None, "--format", help="A table on a terminal, else JSON."),
        keyword("page_file", StudyPage, None),
    ),
    files=("page_file",),
    prepare=_prepare,
    finish=_finish,
    shows=_shows,
)
