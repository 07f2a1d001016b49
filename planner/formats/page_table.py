"""CSV tables that the page saves: a whole problem, together with the placements of its plan.

The columns are those of `minimalloc_csv` and four more: `gaps`, `alias_of`, `alias_offset` and `rest`. `gaps` has the
half-open times between a buffer's lifetimes, as in `4-6 8-9`; `rest` has the row's other fields as JSON. The row
without an id has the problem's other fields. The columns `placed` and `pool` belong to the plan, not to the problem.
"""

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
"""The columns that occur only in these tables."""
LAYOUT = Layout({name: name for name in (*_TEXTS, "placed", "pool")}, ("id", "lower", "upper", "size"), _TEXTS, {})
_INTEGER = r"-?[0-9]{1,30}"
_GUARDED = r"'+[=+\-@\t\r]"
_GAP = r"(-?[0-9]{1,30})-(-?[0-9]{1,30})"


def read_problem(data: bytes, interval: Interval | None = None) -> Problem:
    """Return the problem in a CSV table; raises FormatError, or ProblemError with line and column of wrong cells."""
    sheet = read_sheet(data, LAYOUT, ProblemError)
    value: dict[str, Any] = {} if interval is None else {"interval": interval}
    rows = []
    for k, name in enumerate(sheet.texts["id"]):
        row: dict[str, Any] = {
            field: remove_formula_guard(cells[k]) for field, cells in sheet.texts.items() if cells[k] != ""
        }
        if rest := row.pop("rest", ""):
            row |= {"rest": _other_fields(sheet, k, rest)}
        if name != "":
            rows.append(dict(_buffer_fields(sheet, k, row)))
        else:
            value |= row.get("rest", {})
    return Problem.model_validate(value | {"buffers": rows})


def remove_formula_guard(cell: str) -> str:
    """Return a cell without its leading quote. The page quotes texts that spreadsheets would run as formulas."""
    return cell[1:] if re.match(_GUARDED, cell) else cell


def _buffer_fields(sheet: Sheet, k: int, row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a buffer, named as in JSON, from its row."""
    yield "id", row["id"]
    yield from ((name, _integer_or_text(row[name])) for name in ("size", "alignment", "alias_offset") if name in row)
    if "alias_of" in row:
        yield "alias_of", row["alias_of"]
    if "lower" in row and "upper" in row:
        ends = [_integer_or_text(row["lower"])]
        for gap in row.get("gaps", "").split():
            match = re.fullmatch(_GAP, gap)
            if match is None:
                raise ProblemError(f"{sheet.cell(k, 'gaps')}: must be time ranges such as 4-6 8-9, got {excerpt(gap)}")
            ends += [int(match[1]), int(match[2])]
        ends.append(_integer_or_text(row["upper"]))
        yield "lifetimes", [ends[at : at + 2] for at in range(0, len(ends), 2)]
    yield from row.get("rest", {}).items()


def _integer_or_text(cell: str) -> int | str:
    return int(cell) if re.fullmatch(_INTEGER, cell.strip()) else cell[:MAX_SHOWN]


def _other_fields(sheet: Sheet, k: int, cell: str) -> dict[str, Any]:
    """Return the JSON object in the cell `rest` of row `k`; raises ProblemError if its value is not an object."""
    value = parse(cell.encode())
    if not isinstance(value, dict):
        raise ProblemError(f"{sheet.cell(k, 'rest')}: must be an object, got {excerpt(value)}")
    return value
