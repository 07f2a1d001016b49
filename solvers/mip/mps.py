"""Writing of free-format MPS files, for engines and for users."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

Number = int | float
Sense = Literal["E", "L", "G"]


@dataclass(frozen=True)
class MpsColumn:
    """A column (variable) of an MPS file.

    `name` has no spaces, and `lower` and `upper` are finite limits. `is_whole` is True if the value must be an integer.
    `entries` are the coefficients as pairs of row name and number; the row `total` is the objective.
    """

    name: str
    lower: Number
    upper: Number
    is_whole: bool
    entries: Sequence[tuple[str, Number]]


def mps_lines(rows: Sequence[tuple[str, Sense, Number]], columns: Iterable[MpsColumn]) -> Iterator[str]:
    """Yield the lines of an MPS file with the given rows (name, sense, limit) and columns; numbers are exact."""
    columns = list(columns)
    yield from ("NAME memplan FREE", "ROWS", " N total")
    yield from (f" {sense} {name}" for name, sense, _ in rows)
    yield "COLUMNS"
    for is_whole, group in groupby(columns, key=lambda column: column.is_whole):
        if is_whole:
            yield " MARKER 'MARKER' 'INTORG'"
        for column in group:
            yield from (f" {column.name} {row} {value!r}" for row, value in column.entries)
        if is_whole:
            yield " MARKER 'MARKER' 'INTEND'"
    yield from ("RHS", *(f" RHS {name} {limit!r}" for name, _, limit in rows), "BOUNDS")
    for column in columns:
        if column.lower == column.upper:
            yield f" FX BND {column.name} {column.lower!r}"
        else:
            yield from (f" LO BND {column.name} {column.lower!r}", f" UP BND {column.name} {column.upper!r}")
    yield "ENDATA"
