"""Rows of buffers and placements as columns, half as long in a page: `static/document.js` makes rows of them again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

_FEW = 100
"""Fewer rows are left as they are."""
_EXACT = 2**52
"""Differences of integers below this, and their sums, are exact in doubles."""


def packed_view(view: Mapping[str, Any]) -> dict[str, Any]:
    """Return a view whose buffers and placements are columns, also those of the views inside it."""
    found = {name: _packed_part(part) for name, part in view.items()}
    problem, plan = view.get("problem"), view.get("plan")
    buffers = problem.get("buffers") if isinstance(problem, Mapping) else None
    if problem is not None and buffers and len(buffers) >= _FEW:
        ids = [row["id"] for row in buffers]
        found["problem"] = {**problem, "buffers": packed_rows(buffers)}
        if plan and [row["id"] for row in plan["placements"]] == ids:
            found["plan"] = {**plan, "placements": packed_rows(plan["placements"], left_out="id")}
    return found


def _packed_part(part: Any) -> Any:
    if isinstance(part, Mapping) and "kind" in part:
        return packed_view(part)
    if isinstance(part, (list, tuple)) and part and isinstance(part[0], Mapping) and "view" in part[0]:
        return [{**each, "view": _packed_part(each["view"])} for each in part]
    return part


def packed_rows(rows: Sequence[Mapping[str, Any]], left_out: str = "") -> dict[str, Any]:
    """Return rows as columns: `one` value of all rows, the `values`, or the `steps` from each integer to the next.

    What a row lacks is null. Of the column that is left out, the page takes the values of the buffers.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: _column([row.get(name) for row in rows]) for name in names if name != left_out}
    return {"count": len(rows), "columns": columns}


def _column(values: list[Any]) -> dict[str, Any]:
    if all(value == values[0] for value in values):
        return {"one": values[0]}
    if any(type(value) is not int or abs(value) >= _EXACT for value in values):
        return {"values": values}
    steps = [values[0], *(after - before for before, after in pairwise(values))]
    return {"steps": steps} if len(json.dumps(steps)) < len(json.dumps(values)) else {"values": values}
