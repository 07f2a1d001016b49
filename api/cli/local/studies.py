"""What a few commands have beside what their capabilities say: pages, tables, the name of a file."""

from __future__ import annotations

import csv
import io
from typing import Any

from memplan.api.cli.from_capability import CommandExtras, Invocation
from memplan.api.cli.local.order import title_of
from memplan.api.cli.streams import PAGE, STANDARD
from memplan.capabilities.liveness.liveness import LivenessAnswer
from memplan.files import write_problem
from memplan.planner.errors import OptionError
from memplan.planner.model.problem import Problem

SOURCES = {".c": "c", ".py": "python"}
"""By its suffix, the language of a file with the offsets of `shapes`."""
_COLUMNS = ("status", "cost", "cost_lower_bound", "peak", "lower_bound")


def _schedule_page(call: Invocation, answer: Any, _path: str) -> bytes:
    # Imported here, and below: few answers are looked at.
    from memplan.api.reports.page.studies import schedule_page

    return schedule_page(title_of(call, None), answer)


def _shapes_page(call: Invocation, answer: Any, path: str) -> bytes | None:
    from memplan.api.reports.page.studies import shapes_page

    if not answer.curves:
        call.said.append(f"{path}: not written, as no symbol has several values")
        return None
    return shapes_page(title_of(call, None), answer.curves)


def _prepare_source(call: Invocation) -> None:
    """Have the offsets written in the language of the file that -o names."""
    languages = {language for suffix, language in SOURCES.items() if call.has_output(suffix)}
    if (wanted := call.flags["to"]) is not None:
        languages.add(wanted)
    if len(languages) > 1 and any(map(call.has_output, SOURCES)):
        raise OptionError(f"output: must be of one language, got {', '.join(sorted(languages))}")
    if languages and wanted is None:
        call.change(to=languages.pop())


def _source(_call: Invocation, answer: Any, _path: str) -> bytes | None:
    return None if answer.source is None else bytes(answer.source.encode())


def _sweep_page(call: Invocation, answer: Any, _path: str) -> bytes:
    """Return the page of a sweep, in which each point opens its plan: over the sum of the sizes, or over its number."""
    from memplan.api.reports.page.studies import sweep_page

    problem: Problem = call.question["problem"]
    pairs = enumerate(zip(answer.points, answer.plans or (), strict=True))
    rows = [(sum(point.sizes.values()) or k, point.problem_of(problem), plan) for k, (point, plan) in pairs]
    pools = answer.points[0].sizes if answer.points else {}
    return sweep_page(problem.name or "sweep", " + ".join(pools) or "combination", rows)


def _sweep_csv(_call: Invocation, answer: Any, _path: str) -> bytes:
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
        others = [point.alignment] if point.alignment else []
        others += [", ".join(change.text for change in point.changes)] if point.changes else []
        out.writerow([*point.sizes.values(), *others, *(getattr(point, name) for name in _COLUMNS), *uses])
    return text.getvalue().encode()


def _problem(_call: Invocation, answer: LivenessAnswer, path: str) -> bytes:
    """Return the problem alone, which other commands read."""
    return write_problem(answer.problem, format="csv" if path.lower().endswith(".csv") else "json")


def _take_name(call: Invocation) -> None:
    path = call.files["file"]
    if call.flags["name"] is None and path != STANDARD:
        call.change(name=path)


LOCALS = {
    "compare": CommandExtras(prepare=_take_name),
    "liveness": CommandExtras(forms={".json": _problem, ".csv": _problem, "": _problem}, says_lines=True),
    "schedule": CommandExtras(beside={PAGE: _schedule_page}),
    "shapes": CommandExtras(
        forms=dict.fromkeys(SOURCES, _source), beside={PAGE: _shapes_page}, prepare=_prepare_source
    ),
    "sweep": CommandExtras(forms={".csv": _sweep_csv}, beside={PAGE: _sweep_page}, needs_plans=(PAGE,)),
}
