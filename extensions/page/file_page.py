"""The file page: one HTML file with scripts, styles and views of plans, which needs no network."""

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from memplan.extensions.page.one_file import one_file, static_text
from memplan.planner.foreign.program_names import NO_NAMES, ProgramNames
from memplan.planner.model.moving import as_pieces, copies_between_pieces
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.places import MOST_PAIRS
from memplan.questions.verify.verify import verdict_on

_LISTED = 200
"""A page lists at most this number of a plan's violations."""
_NOT_SHOWN = {"proof", "shared", "bank_clashes", "findings", "options"}
"""The fields of a plan that pages do not contain."""


def plan_view(
    problem: Problem, plan: Plan, *, title: str = "plan", names: ProgramNames = NO_NAMES, most_pairs: int = MOST_PAIRS
) -> dict[str, Any]:
    """Return a plan as a view, in JSON: the problem and the plan in their formats, and the verifier's verdict.

    The view has the lowest possible offset of each buffer, unless more than `most_pairs` pairs must be compared for it.
    The page draws the view like the files that users drop on the page (`static/plan_model.js`). Pieces of a buffer that
    moves are drawn as buffers.
    """
    verdict = verdict_on(problem, plan, most_pairs=most_pairs)
    inspection = verdict.model_dump(mode="json", include={"valid", "violations", "claims", "pools", "places"})
    copies = copies_between_pieces(plan)
    problem, plan = as_pieces(problem, plan)
    inspection |= {"count": len(verdict.violations), "violations": inspection["violations"][:_LISTED]}
    facts = plan.model_dump(mode="json", exclude_none=True, exclude=_NOT_SHOWN)
    if copies:
        facts["copies"] = [{"time": copy.time, "pair": pair} for copy, *pair in copies]
    return {
        "kind": "plan",
        "title": title,
        "problem": problem.model_dump(mode="json", exclude_defaults=True),
        "plan": facts,
        "names": None if names == NO_NAMES else asdict(names),
        "inspection": inspection,
    }


_FEW = 100
"""A table with at least this number of rows is packed into columns."""
_EXACT = 2**52
"""JavaScript's doubles add and subtract integers below this number exactly."""


def packed_view(view: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a view in which all long tables of buffers and placements are packed, also in inner views."""
    found = {name: _packed_value(part) for name, part in view.items()}
    problem, plan = view.get("problem"), view.get("plan")
    buffers = problem.get("buffers") if isinstance(problem, Mapping) else None
    if problem is not None and buffers and len(buffers) >= _FEW:
        ids = [row["id"] for row in buffers]
        found["problem"] = {**problem, "buffers": packed_rows(buffers)}
        if plan and [row["id"] for row in plan["placements"]] == ids:
            found["plan"] = {**plan, "placements": packed_rows(plan["placements"], left_out="id")}
    return found


def _packed_value(part: Any) -> Any:
    if isinstance(part, Mapping) and "kind" in part:
        return packed_view(part)
    if isinstance(part, (list, tuple)) and part and isinstance(part[0], Mapping) and "view" in part[0]:
        return [{**each, "view": _packed_value(each["view"])} for each in part]
    return part


def packed_rows(rows: Sequence[Mapping[str, Any]], left_out: str = "") -> dict[str, Any]:
    """Return rows packed into columns; each column has `one` common value, or `values`, or `steps` between integers.

    A field that a row lacks becomes null. The column `left_out` is omitted, because the page knows it from the buffers.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: _packed_column([row.get(name) for row in rows]) for name in names if name != left_out}
    return {"count": len(rows), "columns": columns}


def _packed_column(values: list[Any]) -> dict[str, Any]:
    if all(value == values[0] for value in values):
        return {"one": values[0]}
    if any(type(value) is not int or abs(value) >= _EXACT for value in values):
        return {"values": values}
    steps = [values[0], *(after - before for before, after in pairwise(values))]
    return {"steps": steps} if len(json.dumps(steps)) < len(json.dumps(values)) else {"values": values}


BUNDLE = "built/page.js"
"""The script of a file page: one JavaScript module, which `lab/page_bundles.py` makes from the page's modules."""
_SLOW = 20_000
"""A page with at least this number of buffers shows a message while it loads."""


def plan_page(problem: Problem, plan: Plan, *, title: str = "", names: ProgramNames = NO_NAMES) -> bytes:
    """Return the file page of a plan."""
    title = title or problem.name or "plan"
    return file_page(title, plan_view(problem, plan, names=names))


def file_page(title: str, *views: Mapping[str, Any]) -> bytes:
    """Return a file page with the given views. Its security policy allows only the scripts and styles in the file.

    Each view has a `kind` (registered in `static/main.js`), a `title`, and the fields of that kind. The views and the
    page's title are stored in the page as compressed JSON.
    """
    buffers = sum(len(view["problem"]["buffers"]) for view in views if view.get("problem"))
    document = {"title": title, "views": [packed_view(view) for view in views]}
    note = f"reading {buffers:,} buffers …" if buffers >= _SLOW else ""
    return one_file(
        title, static_text(BUNDLE), {"document": json.dumps(document, separators=(",", ":")).encode()}, note=note
    )


_HEIGHT = 560


def cell(problem: Problem, plan: Plan) -> bytes:
    """Return HTML for a notebook cell: a plan's page in a sandboxed frame, which cannot access the notebook."""
    page = html.escape(plan_page(problem, plan).decode())
    size = f'width="100%" height="{_HEIGHT}" style="border: 1px solid #8888; border-radius: 6px"'
    frame = f'<iframe title="memplan plan" sandbox="allow-scripts allow-downloads" {size} srcdoc="{page}"></iframe>'
    return frame.encode()
