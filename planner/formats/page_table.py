"""Tables that pages save: a whole problem, and the placements of its plan.

To the columns of `minimalloc_csv` come `gaps`, the times between a buffer's lifetimes (`4-6 8-9`, half-open),
`alias_of` and `alias_offset`, and `rest`, the JSON of a row's other fields; the row without an id has those of the
problem. Where a plan has a buffer, `placed` and `pool`, is no part of the problem.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from memplan.planner.errors import MAX_SHOWN, ProblemError, excerpt
from memplan.planner.formats.memplan_json import parse
from memplan.planner.formats.sheet import Layout, Sheet, read_sheet
from memplan.planner.model.intervals import Interval
from memplan.planner.model.problem import Problem

_TEXTS = ("id", "lower", "upper", "size", "alignment", "gaps", "alias_of", "alias_offset", "rest")
NEW = {"gaps", "alias_of", "alias_offset", "rest", "placed"}
"""The columns that other tables lack."""
LAYOUT = Layout({name: name for name in (*_TEXTS, "placed", "pool")}, ("id", "lower", "upper", "size"), _TEXTS, {})
_INTEGER = r"-?[0-9]{1,30}"
_GUARDED = r"'+[=+\-@\t\r]"
_GAP = r"(-?[0-9]{1,30})-(-?[0-9]{1,30})"


def read_problem(data: bytes, interval: Interval | None = None) -> Problem:
    """Read a problem; raises FormatError, and ProblemError with the line and the column of wrong cells."""
    sheet = read_sheet(data, LAYOUT, ProblemError)
    value: dict[str, Any] = {} if interval is None else {"interval": interval}
    rows = []
    for k, name in enumerate(sheet.texts["id"]):
        row: dict[str, Any] = {
            field: remove_formula_guard(cells[k]) for field, cells in sheet.texts.items() if cells[k] != ""
        }
        if rest := row.pop("rest", ""):
            row |= {"rest": _object(sheet, k, rest)}
        if name != "":
            rows.append(dict(_buffer(sheet, k, row)))
        else:
            value |= row.get("rest", {})
    return Problem.model_validate(value | {"buffers": rows})


def remove_formula_guard(cell: str) -> str:
    """Return a text without the quote that a page adds so that spreadsheets do not read it as a formula."""
    return cell[1:] if re.match(_GUARDED, cell) else cell


def _buffer(sheet: Sheet, k: int, row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a buffer as in JSON."""
    yield "id", row["id"]
    yield from ((name, _number(row[name])) for name in ("size", "alignment", "alias_offset") if name in row)
    if "alias_of" in row:
        yield "alias_of", row["alias_of"]
    if "lower" in row and "upper" in row:
        ends = [_number(row["lower"])]
        for gap in row.get("gaps", "").split():
            match = re.fullmatch(_GAP, gap)
            if match is None:
                raise ProblemError(f"{sheet.cell(k, 'gaps')}: must be times such as 4-6 8-9, got {excerpt(gap)}")
            ends += [int(match[1]), int(match[2])]
        ends.append(_number(row["upper"]))
        yield "lifetimes", [ends[at : at + 2] for at in range(0, len(ends), 2)]
    yield from row.get("rest", {}).items()


def _number(cell: str) -> int | str:
    """Return the integer in a cell; other text is returned unchanged, and the problem refuses it."""
    return int(cell) if re.fullmatch(_INTEGER, cell.strip()) else cell[:MAX_SHOWN]


def _object(sheet: Sheet, k: int, cell: str) -> dict[str, Any]:
    value = parse(cell.encode())
    if not isinstance(value, dict):
        raise ProblemError(f"{sheet.cell(k, 'rest')}: must be an object, got {excerpt(value)}")
    return value
