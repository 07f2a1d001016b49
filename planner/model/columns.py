"""The base class of the read-only tables, which store buffers and placements as columns."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

import numpy as np
import numpy.typing as npt

from memplan.planner.model.rows import short_repr

Row = TypeVar("Row")
Number = TypeVar("Number", bound=np.generic)


def unique_values(values: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return the distinct values in ascending order."""
    # Sorting a million distinct values takes 0.06 s, but np.unique, which hashes them, takes 1.2 s, so sort.
    ordered: npt.NDArray[Number] = np.sort(values, axis=None)
    unique: npt.NDArray[Number] = ordered[np.append(True, ordered[1:] != ordered[:-1])[: ordered.size]]
    return unique


def repeated_positions(ids: Sequence[int | str]) -> list[tuple[int, int]]:
    """Return the pairs of positions (first, later) for every repetition of an id."""
    if len(set(ids)) == len(ids):
        return []
    first = {name: i for i, name in reversed([*enumerate(ids)])}
    return [(first[name], i) for i, name in enumerate(ids) if first[name] < i]


class Columns(Sequence[Row]):
    """A sequence of rows that is stored as a frozen dataclass of columns; one column is `ids`.

    A deep copy of a table is the table itself. A table restored from a pickle is read-only again.
    """

    ids: tuple[int | str, ...]

    @abstractmethod
    def _row(self, i: int) -> Row: ...

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.ids)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice | str) -> Row | Sequence[Row]:
        """Return the row at a position, or the rows of a slice; raises TypeError for an id."""
        if isinstance(index, slice):
            return [self._row(i) for i in range(*index.indices(len(self)))]
        if isinstance(index, str):
            raise TypeError(f"rows: must be indexed by position, got {index!r}: use problem.index[name] or plan[name]")
        return self._row(range(len(self))[index])

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows in order."""
        return (self._row(i) for i in range(len(self)))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return the table itself, which cannot change."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the table by its columns, with read-only mappings as dicts, because the mappings cannot be pickled."""
        columns = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return _restored_table, (type(self), {name: _picklable_column(value) for name, value in columns.items()})

    def __repr__(self) -> str:
        return short_repr(self)

    if not TYPE_CHECKING:  # hide __getattr__ from type checkers, for which it would make any name valid

        def __getattr__(self, name: str) -> Any:
            """Raise AttributeError; for list methods such as `append`, the error states that rows are unchangeable."""
            if hasattr(list, name) and not name.startswith("_"):
                way = "build a new list with [*rows, more]"
                raise AttributeError(f"{name}: rows must not be changed, because values are frozen: {way}")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def _picklable_column(value: Any) -> Any:
    return {key: _picklable_column(entry) for key, entry in value.items()} if isinstance(value, Mapping) else value


def read_only(value: Any) -> Any:
    """Return a dict, and all dicts inside it, as read-only mappings; return values of other types unchanged."""
    if not isinstance(value, dict):
        return value
    return MappingProxyType({key: read_only(entry) for key, entry in value.items()})


def _restored_table(kind: type[Columns[Row]], columns: dict[str, Any]) -> Columns[Row]:
    for value in columns.values():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
    return kind(**{name: read_only(value) for name, value in columns.items()})


_FIELDS = ("id", "size", "start", "end")


def plain_columns(rows: Sequence[Any]) -> list[list[Any]] | None:
    """Return the columns id, size, start, end, and alignment if present, of plain JSON rows; None for other rows.

    Rows are plain if all of them have exactly these fields, with ids and integers of the right types.
    """
    first = rows[0] if rows else None
    if not isinstance(first, dict) or set(map(type, rows)) != {dict} or set(map(len, rows)) != {len(first)}:
        return None
    names = (*_FIELDS, "alignment") if "alignment" in first else _FIELDS
    if len(first) != len(names):
        return None
    try:
        ids, *numbers = ([*map(itemgetter(name), rows)] for name in names)
    except KeyError:
        return None
    are_ids = set(map(type, ids)) <= {int, str} and "" not in ids
    are_numbers = all(set(map(type, column)) == {int} for column in numbers)
    return [ids, *numbers] if are_ids and are_numbers else None
