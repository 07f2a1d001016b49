"""Reading of comma-separated tables: cells are checked by column, and errors name the line and column of a cell."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memplan.planner.errors import (
    AS_UTF8,
    MAX_SHOWN,
    NEGATIVE,
    ONE_OF_THEM,
    FormatError,
    InputError,
    Sentence,
    add_way,
    prefix_sentence,
)
from memplan.planner.errors.did_you_mean import byte_count_hint, closest_field
from memplan.planner.model.buffer_table import ABSENT, I64, column
from memplan.planner.model.rows import MAX_TIME, MIN_TIME

if TYPE_CHECKING:
    from _csv import Reader

_ROWS_AT_ONCE = 256
"""The number of rows read at a time: few, because Python's garbage collector scans all live lists again and again."""
_INTEGER = r" *[+-]?[0-9]+ *"
_NOT_IN_INTEGERS = re.compile(r"[^0-9+\- ]")
# int() takes time quadratic in the digits, so refuse longer texts unparsed: they exceed 64 bits anyway.
_LONGEST_INTEGER = 100
_WHOLE = "bytes and time steps are whole numbers, as 4096"

Break = tuple[int, str, Sentence]
"""The row and field of a wrong cell, and the sentence about it."""


class Layout(NamedTuple):
    """The columns that a CSV table may have.

    fields: the field that each column name denotes.
    required: the names of the columns that must exist.
    texts: the fields that are read as text.
    numbers: the fields that are read as integers, each with the value that an empty cell gets. If this value is None,
    no cell may be empty. If it is ABSENT, no cell may contain that number itself.
    """

    fields: Mapping[str, str]
    required: tuple[str, ...]
    texts: tuple[str, ...]
    numbers: Mapping[str, int | None]


@dataclass(frozen=True, eq=False)
class Sheet:
    """The cells of a table by field, as lists of texts or arrays of numbers.

    `headings` has, by field, the name of the field's column in the file.
    """

    data: bytes
    n_rows: int
    headings: Mapping[str, str]
    texts: Mapping[str, list[str]]
    numbers: Mapping[str, I64]

    @cached_property
    def lines(self) -> list[int]:
        """The line number, from 1, at which each row ends; parsed again from the data, because only errors need it."""
        reader, rows = _nonblank_rows(self.data)
        return list(islice((reader.line_num for _ in rows), 1, 1 + self.n_rows))

    def cell(self, row: int, field: str) -> str:
        """Return the line and column of a cell as text, to begin an error sentence."""
        return f"line {self.lines[row]}, column {self.headings[field]!r}"

    def sentences(self, breaks: Sequence[Break]) -> tuple[Sentence, ...]:
        """Return the error sentences about wrong cells in file order, at most MAX_SHOWN and then "and more"."""
        columns = list(self.headings)
        in_order = sorted(breaks, key=lambda found: (found[0], columns.index(found[1])))
        lines = [prefix_sentence(f"{self.cell(row, field)}: ", rule) for row, field, rule in in_order[:MAX_SHOWN]]
        return (*lines, "and more") if len(breaks) > MAX_SHOWN else tuple(lines)


def first_line(data: bytes) -> list[str]:
    """Return the cells of the first line without surrounding spaces; empty if the bytes are not a table."""
    # A file of another kind may be one line of gigabytes, so examine only the first 1,000 bytes.
    line = data.lstrip(b"\xef\xbb\xbf\r\n")[:1000].splitlines()[:1]
    try:
        return [cell.strip() for cells in csv.reader([line[0].decode()]) for cell in cells] if line else []
    except (UnicodeDecodeError, csv.Error):
        return []


def read_sheet(data: bytes, layout: Layout, kind: type[InputError]) -> Sheet:
    """Return the cells of a CSV table; raises FormatError for wrong columns, and the class `kind` for wrong cells."""
    chunks = _row_chunks(data)
    headings = _validated_headings(next(chunks), layout)
    texts: dict[str, list[str]] = {field: [] for field in layout.texts if field in headings}
    blocks: dict[str, list[I64]] = {field: [] for field in layout.numbers if field in headings}
    breaks: list[Break] = []
    n_rows = 0
    for rows in chunks:
        cells = dict(zip(headings, zip(*rows, strict=True), strict=True))
        for field in texts:
            texts[field].extend(cells[field])
        for field in blocks:
            values, wrong = _integers_and_faults(cells[field], layout.numbers[field])
            blocks[field].append(values)
            breaks.extend((n_rows + i, field, rule) for i, rule in wrong)
        n_rows += len(rows)
        if len(breaks) > MAX_SHOWN:
            break
    numbers = {field: column(np.concatenate([*values, np.empty(0, np.int64)])) for field, values in blocks.items()}
    sheet = Sheet(data, n_rows, headings, texts, numbers)
    if breaks:
        raise kind(*sheet.sentences(breaks))
    return sheet


def _nonblank_rows(data: bytes) -> "tuple[Reader, Iterator[list[str]]]":
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", newline=""), strict=True)
    return reader, (row for row in reader if len(row) > 1 or "".join(row).strip())


def _row_chunks(data: bytes) -> Iterator[list[list[str]]]:
    """Yield the first row alone, then lists of rows; raises FormatError if a row is not as wide as the first row."""
    reader, rows = _nonblank_rows(data)
    try:
        first = list(islice(rows, 1))
        yield first
        while chunk := list(islice(rows, _ROWS_AT_ONCE)):
            if any(len(row) != len(first[0]) for row in chunk):
                raise FormatError(_ragged_row_sentence(data, len(first[0])))
            yield chunk
    except UnicodeDecodeError:
        raise FormatError(f"line {reader.line_num + 1} or later: must be text in UTF-8", way=AS_UTF8) from None
    except csv.Error as error:
        rule = f"line {reader.line_num}: must be a row of comma-separated values: {error}"
        raise FormatError(rule, way="is a quotation mark left open?") from None


def _ragged_row_sentence(data: bytes, width: int) -> str:
    reader, rows = _nonblank_rows(data)
    return next(
        f"line {reader.line_num}: must have {width} cells, like the first line, got {len(row)}: "
        f"{_cell_excerpt(','.join(row))}"
        for row in rows
        if len(row) != width
    )


def _validated_headings(first: list[list[str]], layout: Layout) -> dict[str, str]:
    """Return the column names by field; raises FormatError for an unknown, repeated or missing column."""
    columns: dict[str, str] = {}
    names = [cell.strip() for row in first for cell in row]
    for name in names:
        if name not in layout.fields:
            raise FormatError(_column_sentence(name, names, layout))
        field = layout.fields[name]
        if field in columns:
            rule = f"first line, column {name!r}: must not be given together with {columns[field]!r}"
            raise FormatError(rule, way=ONE_OF_THEM)
        columns[field] = name
    missing = [name for name in layout.required if layout.fields[name] not in columns]
    if missing:
        got = f"{_cell_excerpt(','.join(names))}, without {', '.join(missing)}"
        way = "give a plan of this problem" if missing == ["offset"] else None
        raise FormatError(f"first line: must name the columns {','.join(layout.required)}, got {got}", way=way)
    return columns


def _column_sentence(name: str, names: Sequence[str], layout: Layout) -> str:
    """Return the error sentence for an unknown column, with the known columns and the most likely one."""
    where, required = f"first line, column {_cell_excerpt(name)}", ",".join(layout.required)
    if name.startswith("#"):
        return f"{where}: must name a column, as tables have no comments (leave them out): {required}"
    if name.lstrip("-").isdecimal() or len(name) == 1:
        return f"{where}: must name a column, as the first line does: {required}"
    if other := next((mark for mark in ";\t|" if mark in name), None):
        return f"{where}: must be separated from others by commas, got {other!r}: {required}"
    meant = {each: closest_field("buffers", each) or each for each in names}
    fields = {layout.fields.get(each) for each in meant.values()}
    missing = [each for each in layout.required if layout.fields[each] not in fields]
    if len(missing) > 1:
        got = f"nothing like {', '.join(missing)}: a table of something else"
        return f"first line: must name the columns {required}, got {got}"
    near = meant[name] if meant[name] in layout.fields else name.partition(" (")[0].strip()
    unit = ", in bytes or time steps" if near != meant[name] else ""
    hint = f"did you mean {near}{unit}?" if near in layout.fields else "leave it out"
    return f"{where}: must be one of {', '.join(layout.fields)} ({hint})"


def _integers_and_faults(cells: Sequence[str], empty: int | None) -> tuple[I64, list[tuple[int, Sentence]]]:
    """Return the integers of a column, and a (row, sentence) pair for each wrong cell.

    `empty` is the value of an empty cell; None if empty cells are wrong.
    """
    try:
        if not _NOT_IN_INTEGERS.search("".join(cells)):
            values = np.array(list(map(int, cells)), dtype=np.int64)
            if empty != ABSENT or ABSENT not in values:
                return values, []
    except (ValueError, OverflowError):
        pass
    # At least one cell is empty or wrong, so examine each cell separately.
    values = np.zeros(len(cells), dtype=np.int64)
    wrong: list[tuple[int, Sentence]] = []
    for i, cell in enumerate(cells):
        if empty is not None and not cell.strip():
            values[i] = empty
        elif not re.fullmatch(_INTEGER, cell):
            near = byte_count_hint(cell).replace(", without quotes", "")
            wrong.append((i, add_way(f"must be an integer, got {_cell_excerpt(cell)}{near}", None if near else _WHOLE)))
        elif len(cell) > _LONGEST_INTEGER or not MIN_TIME <= int(cell) <= MAX_TIME:
            wrong.append((i, add_way(f"must be an integer of at most 64 bits, got {_cell_excerpt(cell)}", _WHOLE)))
        elif empty == ABSENT == int(cell):
            wrong.append((i, add_way(f"must be at least 0, got {ABSENT}", NEGATIVE)))
        else:
            values[i] = int(cell)
    return values, wrong


def _cell_excerpt(cell: str) -> str:
    return repr(cell if len(cell) <= 60 else cell[:57] + "...")
