"""Tables of buffers in CSV, `id,lower,upper,size[,alignment[,offset]]`, as google/minimalloc reads and writes them.

Lifetimes are half-open if their end is in the column `upper`, and closed if it is in the column `end`, as in that
project's converter. memplan writes half-open lifetimes, and reads ids as strings. The table of a problem has one pool,
and a non-empty `offset` pins its buffer. In the table of a plan, `offset` is the buffer's offset, and the column `pool`
names its pool if there are several. Further columns, such as omnimalloc's column `kind`, are ignored. The module
`page_table` reads tables with more columns.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from pydantic import ValidationError

from memplan.planner.errors import (
    MAX_SHOWN,
    NEGATIVE,
    FormatError,
    PlanError,
    ProblemError,
    Sentence,
    add_way,
    excerpt,
    sentence_of_error,
    unique_rule,
)
from memplan.planner.formats import page_table
from memplan.planner.formats.sheet import Break, Layout, Sheet, first_line, read_sheet
from memplan.planner.model.buffer_table import ABSENT, I64, BufferTable, column
from memplan.planner.model.columns import repeated_positions
from memplan.planner.model.entries import entries_of
from memplan.planner.model.intervals import Interval, closed_rule
from memplan.planner.model.moving import refuse_moves
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Pool, Problem
from memplan.planner.model.rows import MAX_TIME

SUFFIX = ".csv"
MEDIA_TYPE = "text/csv"
CLOSED_COLUMN = "end"
"""The name of the column for inclusive ends; the column `upper` has exclusive ends."""
_FIELDS = {
    "id": "id",
    "lower": "start",
    "upper": "end",
    "start": "start",
    "end": "end",
    "size": "size",
    "alignment": "alignment",
    "offset": "offset",
    "kind": "kind",
}
_PROBLEM = Layout(
    _FIELDS,
    required=("id", "lower", "upper", "size"),
    texts=("id",),
    numbers={"start": None, "end": None, "size": None, "alignment": 1, "offset": ABSENT},
)
_PLAN = Layout(_FIELDS | {"pool": "pool"}, required=("id", "offset"), texts=("id", "pool"), numbers={"offset": None})
_EMPTY = add_way("must not be empty", "name one, or leave it out")
_PLAN_OF_SEVERAL_POOLS = _PLAN._replace(required=("id", "offset", "pool"))
_PLACED = _PLAN._replace(
    fields={**page_table.LAYOUT.fields, "placed": "offset"},
    required=("id", "placed", "pool"),
    numbers={"offset": ABSENT},
)


def is_own(data: bytes) -> bool:
    """Return True if the first line has a column `id`, and all its columns are known in these tables."""
    names = set(first_line(data))
    return "id" in names and names <= _PLACED.fields.keys() | _PLAN.fields.keys()


def recognises(data: bytes) -> bool:
    """Return True if the first line has several columns, one of them `id`."""
    names = first_line(data)
    return "id" in names and len(names) > 1


def read_problem(data: bytes, interval: Interval | None = None) -> Problem:
    """Return the problem in a CSV table.

    Raises FormatError, or ProblemError with the line and column of each wrong cell. Without `interval`, the heading of
    the column with the ends decides whether ends are inclusive.
    """
    if not page_table.NEW.isdisjoint(first_line(data)):
        return page_table.read_problem(data, interval)
    sheet = read_sheet(data, _PROBLEM, ProblemError)
    if interval == "closed" or (interval is None and sheet.headings["end"] == CLOSED_COLUMN):
        interval, sheet = "half-open", replace(sheet, numbers={**sheet.numbers, "end": _exclusive_ends(sheet)})
    ids = sheet.texts["id"]
    breaks: list[Break] = [
        (i, "id", unique_rule(repr(ids[i]), f"on line {sheet.lines[first]}")) for first, i in repeated_positions(ids)
    ]
    # Several empty ids would also count as repeated ids, so report them as empty instead.
    if not all(ids):
        breaks = [(i, "id", _EMPTY) for i, name in enumerate(ids) if not name]
    if breaks:
        raise ProblemError(*sheet.sentences(breaks))
    try:
        table = BufferTable.from_columns(ids, **sheet.numbers)
    except ValidationError as error:
        breaks = [_break_of_location(each["loc"], sentence_of_error(each)) for each in error.errors(include_url=False)]
        raise ProblemError(*sheet.sentences(breaks)) from error
    return Problem.of_table(table, interval)


def _exclusive_ends(sheet: Sheet) -> I64:
    """Return the inclusive ends plus 1; raises ProblemError for an end before its start or without a successor."""
    start, last = sheet.numbers["start"], sheet.numbers["end"]
    breaks: list[Break] = [
        (i, "end", rule)
        for i in np.flatnonzero((last < start) | (last == MAX_TIME))[: MAX_SHOWN + 1].tolist()
        if (rule := closed_rule(int(start[i]), int(last[i]))) is not None
    ]
    if breaks:
        raise ProblemError(*sheet.sentences(breaks))
    return column(last + 1)


def _break_of_location(location: tuple[int | str, ...], rule: Sentence) -> Break:
    row, field = location
    return int(row), str(field), rule


def read_plan(data: bytes, problem: Problem) -> Plan:
    """Return the plan in a CSV table; ids are compared as strings. Raises FormatError or PlanError."""
    if "placed" in first_line(data):
        sheet = read_sheet(data, _PLACED, PlanError)
        rows = np.flatnonzero(sheet.numbers["offset"] != ABSENT)
        texts = {
            field: [page_table.remove_formula_guard(cells[i]) for i in rows.tolist()]
            for field, cells in sheet.texts.items()
        }
        sheet = replace(sheet, texts=texts, numbers={"offset": sheet.numbers["offset"][rows]})
    else:
        sheet = read_sheet(data, _PLAN if len(problem.pools) == 1 else _PLAN_OF_SEVERAL_POOLS, PlanError)
    ids, offset = sheet.texts["id"], sheet.numbers["offset"]
    pools = sheet.texts.get("pool", [problem.pools[0].name] * len(ids))
    wrong = np.flatnonzero(offset < 0).tolist()
    breaks = [(i, "offset", add_way(f"must be at least 0, got {offset[i]}", NEGATIVE)) for i in wrong]
    breaks += [(i, field, _EMPTY) for field in sheet.texts for i, cell in enumerate(sheet.texts[field]) if not cell]
    if breaks:
        raise PlanError(*sheet.sentences(breaks))
    by_text = _ids_by_text(problem)
    names = {name: q for q, name in enumerate(dict.fromkeys(pools))}
    placements = PlacementTable(
        tuple(by_text.get(name, name) for name in ids), tuple(names), column([names[name] for name in pools]), offset
    )
    return Plan(placements=placements)


def _ids_by_text(problem: Problem) -> dict[str, int | str]:
    """Return a problem's ids, keyed by their text; raises FormatError if two ids have the same text."""
    by_text = {str(name): name for name in problem.buffers.ids}
    if len(by_text) < len(problem.buffers):
        name = next(name for name in problem.buffers.ids if by_text[str(name)] != name)
        raise FormatError(f"buffers: must have ids that differ as text, got {name!r} and {by_text[str(name)]!r}")
    return by_text


def write_problem(problem: Problem) -> bytes:
    """Return a problem as a CSV table; raises FormatError if a table cannot express the problem."""
    beyond = _inexpressible_fields(problem)
    if beyond:
        raise FormatError(*(f"{where}: cannot be written to a table" for where in beyond[:MAX_SHOWN]))
    table = problem.buffers
    columns = _table_columns(problem, np.arange(len(table)))
    if (table.offset != ABSENT).any():
        columns["offset"] = ["" if value == ABSENT else value for value in table.offset.tolist()]
    return _csv_bytes(columns)


def _inexpressible_fields(problem: Problem) -> list[str]:
    """Return the paths of fields that a CSV table cannot express and whose loss would change the problem.

    Names may be lost, and so may traffic that the objective does not count.
    """
    table, pool = problem.buffers, problem.pools[0]
    lost = [f"pools[0].{name}" for name, default in Pool(name=pool.name) if getattr(pool, name) != default]
    if len(problem.pools) > 1:
        lost = [f"pools ({len(problem.pools)} of them)"]
    if problem.objective != "peak":
        lost.append(f"objective {excerpt(problem.objective)}")
    lost += entries_of(problem)
    counts = np.diff(table.first)
    lost += [f"buffers[{i}]: {counts[i]} lifetimes" for i in np.flatnonzero(counts != 1)[:MAX_SHOWN].tolist()]
    lost += [f"buffers[{i}].alias_of" for i in table.aliases]
    for name, rows in table.rules.items():
        lost += [f"buffers[{i}].{name}" for i in islice(rows, MAX_SHOWN)]
    lost += [f"buffers[{i}].hint" for i in np.flatnonzero(table.hint != ABSENT)[:MAX_SHOWN].tolist()]
    return lost


def write_plan(plan: Plan, problem: Problem) -> bytes:
    """Return a plan as a CSV table: the problem's rows with offsets, and with pool names if there are several pools.

    A buffer's cells have its first start and its last end; they are empty for a buffer without lifetimes.
    """
    refuse_moves(problem, "for a table of placements")
    placements = plan.placements
    rows = np.array([problem.index[name] for name in placements.ids], dtype=np.int64)
    columns = _table_columns(problem, rows)
    columns["offset"] = placements.offset.tolist()
    if len(problem.pools) > 1 or not set(placements.pool_names) <= problem.pool_index.keys():
        columns["pool"] = [placements.pool_names[q] for q in placements.pool.tolist()]
    return _csv_bytes(columns)


def _table_columns(problem: Problem, rows: I64) -> dict[str, Sequence[int | str]]:
    """Return the columns, by heading, of a CSV table for some of the problem's rows, without offsets."""
    table = problem.buffers
    _ids_by_text(problem)
    counts = np.diff(table.first)
    row_of_lifetime = np.repeat(np.arange(len(table)), counts)
    lower, upper = np.full(len(table), np.iinfo(np.int64).max), np.full(len(table), np.iinfo(np.int64).min)
    np.minimum.at(lower, row_of_lifetime, table.start)
    np.maximum.at(upper, row_of_lifetime, table.end)
    is_timed = (counts[rows] > 0).tolist()
    columns: dict[str, Sequence[int | str]] = {
        "id": [table.ids[i] for i in rows.tolist()],
        "lower": [time if timed else "" for time, timed in zip(lower[rows].tolist(), is_timed, strict=True)],
        "upper": [time if timed else "" for time, timed in zip(upper[rows].tolist(), is_timed, strict=True)],
        "size": table.size[rows].tolist(),
    }
    # Write the column `alignment` only if a buffer has an alignment, as google/minimalloc does.
    if (table.alignment != 1).any():
        columns["alignment"] = table.alignment[rows].tolist()
    return columns


def _csv_bytes(columns: Mapping[str, Sequence[int | str]]) -> bytes:
    # Readers end a row at a carriage return, which Python's writer does not quote, so quote all cells.
    has_returns = any("\r" in str(name) for name in columns["id"])
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL if has_returns else csv.QUOTE_MINIMAL)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().encode()
