"""The table that stores a problem's buffers as columns; `placement_table` has the table of a plan's placements.

A table is a sequence of rows, stored as int64 columns. A million rows take a few hundred megabytes, and solvers read
the columns without conversion.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, TypeVar, get_args

import numpy as np
import numpy.typing as npt
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from memplan.planner.errors import MAX_SHOWN, NEGATIVE, Break, add_way, excerpt, raise_rules
from memplan.planner.errors.did_you_mean import list_hint
from memplan.planner.model.columns import Columns, plain_columns, read_only
from memplan.planner.model.parts import drop_unknown_fields, part_by_part
from memplan.planner.model.rows import MAX_BYTES, Buffer, Value, end_rule, read_accesses

I64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]
Array = TypeVar("Array", bound=npt.NDArray[Any])
ABSENT = -1
"""The mark of a missing entry in a column of optional non-negative numbers."""
_CHUNK = 8192
_FEW = 1024
"""The maximum number of buffers for which default columns are cached; larger ones would waste memory."""
_WITH_COLUMNS = frozenset(
    {"id", "size", "start", "end", "lifetimes", "alignment", "pools", "offset", "traffic", "hint"}
    | {"alias_of", "alias_offset"}
)
_BUFFERS = TypeAdapter(list[Buffer], config=ConfigDict(defer_build=True))


def column(values: npt.ArrayLike) -> I64:
    """Return values as a read-only int64 array; a read-only int64 array is returned without a copy."""
    if isinstance(values, np.ndarray) and values.dtype == np.int64:
        flags = values.flags
        if flags.owndata and flags.c_contiguous and not flags.writeable:
            return values
    array = np.array(values, dtype=np.int64, order="C")
    array.setflags(write=False)
    return array


def freeze(values: Array) -> Array:
    """Make an array read-only and return it; the caller must not keep a writable view of it."""
    values.setflags(write=False)
    return values


@dataclass(frozen=True, eq=False)
class BufferTable(Columns[Buffer]):
    """Buffers as columns. Row `i` is alive in the time ranges `start[k]:end[k]` for `k` in `first[i]:first[i + 1]`.

    `offset`, `traffic` and `hint` are ABSENT if not given. `pool_choice` is an index into `pool_choices`, whose entry
    0, the empty tuple, allows any pool. `aliases` maps a row to (id of the buffer that contains it, bytes from that
    buffer's start). `rules` has the fields that few buffers use: it maps each of RARE_FIELDS to the rows with this
    field and their values. A value is a number, a tuple of names or, for an object, the tuple of its fields.
    """

    ids: tuple[int | str, ...]
    size: I64
    first: I64
    start: I64
    end: I64
    alignment: I64
    offset: I64
    traffic: I64
    hint: I64
    pool_choice: I64
    pool_choices: tuple[tuple[str, ...], ...] = ((),)
    aliases: Mapping[int, tuple[int | str, int]] = field(default_factory=lambda: MappingProxyType({}))
    rules: Mapping[str, Mapping[int, Any]] = field(default_factory=lambda: _NO_RULES)

    @classmethod
    def from_rows(cls, rows: Iterable[Buffer]) -> "BufferTable":
        """Return the table of these buffers, which must be valid."""
        builder = _Builder()
        builder.add(rows)
        return builder.table()

    @classmethod
    def from_columns(
        cls,
        ids: Sequence[int | str],
        size: npt.ArrayLike,
        start: npt.ArrayLike,
        end: npt.ArrayLike,
        alignment: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
    ) -> "BufferTable":
        """Return the table of buffers with one lifetime each; `offset` is ABSENT for a buffer that is not pinned.

        Raises pydantic.ValidationError for a wrong value, with the same location and sentence as for a row.
        """
        ones, absent, first, choice = _defaults(len(ids))
        sizes, starts, ends = column(size), column(start), column(end)
        alignments = ones if alignment is None else column(alignment)
        offsets = absent if offset is None else column(offset)
        _check_columns(sizes, starts, ends, alignments, offsets)
        return cls(tuple(ids), sizes, first, starts, ends, alignments, offsets, absent, absent, choice)

    def __eq__(self, other: object) -> bool:
        """Return True for a table of equal buffers in the same order."""
        return isinstance(other, BufferTable) and len(self) == len(other) and all(map(Buffer.__eq__, self, other))

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def has_one_lifetime_each(self) -> bool:
        """True if each buffer has exactly one lifetime, so that buffer `i` has lifetime `i`."""
        usual = _defaults(len(self))[2]
        return len(self.start) == len(self) and (self.first is usual or bool((self.first == usual).all()))

    def has_any(self, values: I64) -> bool:
        """Return True if a column of optional numbers, such as `offset`, has a value in any row."""
        return values is not _defaults(len(self))[1] and bool((values != ABSENT).any())

    def _row(self, i: int) -> Buffer:
        return Buffer.model_construct(**self.fields(i))

    def intervals(self, i: int) -> list[tuple[int, int]]:
        """Return the half-open lifetimes of row `i`."""
        rows = slice(int(self.first[i]), int(self.first[i + 1]))
        return list(zip(self.start[rows].tolist(), self.end[rows].tolist(), strict=True))

    def fields(self, i: int) -> dict[str, Any]:
        """Return the fields of row `i` under their JSON names, without absent and default values."""
        row: dict[str, Any] = {"id": self.ids[i], "size": int(self.size[i])}
        low, high = int(self.first[i]), int(self.first[i + 1])
        if high - low == 1:
            row["start"], row["end"] = int(self.start[low]), int(self.end[low])
        elif high > low:
            row["lifetimes"] = tuple(zip(self.start[low:high].tolist(), self.end[low:high].tolist(), strict=True))
        if self.alignment[i] != 1:
            row["alignment"] = int(self.alignment[i])
        if self.pool_choice[i]:
            row["pools"] = self.pool_choices[int(self.pool_choice[i])]
        for name, values in (("offset", self.offset), ("traffic", self.traffic), ("hint", self.hint)):
            if values[i] != ABSENT and not (name == "traffic" and i in self.rules["accesses"]):
                row[name] = int(values[i])
        if i in self.aliases:
            row["alias_of"], alias_offset = self.aliases[i]
            if alias_offset:
                row["alias_offset"] = alias_offset
        for name, kind in RARE_FIELDS.items():
            if (value := self.rules[name].get(i)) is not None:
                row[name] = kind.model_construct(**dict(zip(kind.model_fields, value, strict=True))) if kind else value
        return row


def _traffic(row: Buffer) -> int:
    if row.accesses:
        return min(MAX_BYTES, sum(count for _, _, count in read_accesses(row.accesses, row.size, False)))
    return ABSENT if row.traffic is None else row.traffic


def _object_class(field: FieldInfo) -> type[Value] | None:
    """Return the class of a field's values if these are objects with fields; None otherwise."""
    kinds = (kind for kind in get_args(field.annotation) if isinstance(kind, type) and issubclass(kind, Value))
    return next(kinds, None)


RARE_FIELDS: Mapping[str, type[Value] | None] = {
    name: _object_class(field) for name, field in Buffer.model_fields.items() if name not in _WITH_COLUMNS
}
"""The fields of Buffer that few rows have, each with the class of its values, which are stored as tuples."""
_NO_RULES: Mapping[str, Mapping[int, Any]] = read_only({name: {} for name in RARE_FIELDS})


class _Builder:
    """Collects rows into columns, chunk by chunk, so that not all rows must exist at the same time."""

    def __init__(self) -> None:
        """Start with an empty table."""
        self.ids: list[int | str] = []
        self.numbers: list[tuple[int, int, int, int, int, int]] = []
        self.first: list[int] = [0]
        self.intervals: list[tuple[int, int]] = []
        self.choices: dict[tuple[str, ...], int] = {(): 0}
        self.aliases: dict[int, tuple[int | str, int]] = {}
        self.rules: dict[str, dict[int, Any]] = {name: {} for name in RARE_FIELDS}
        self.blocks: list[tuple[I64, I64]] = []

    def add(self, rows: Iterable[Buffer]) -> None:
        """Append a chunk of valid buffers to the table."""
        rules = list(RARE_FIELDS.items())
        for row in rows:
            choice = self.choices.setdefault(row.pools or (), len(self.choices))
            if row.alias_of is not None:
                self.aliases[len(self.ids)] = (row.alias_of, row.alias_offset or 0)
            for name, kind in rules:
                if (value := getattr(row, name)) is not None and value != ():
                    fields = [getattr(value, field) for field in kind.model_fields] if kind else []
                    self.rules[name][len(self.ids)] = tuple(fields) if kind else value
            self.ids.append(row.id)
            self.intervals.extend(row.intervals)
            self.first.append(self.first[-1] + len(row.intervals))
            self.numbers.append(
                (
                    row.size,
                    row.alignment,
                    ABSENT if row.offset is None else row.offset,
                    _traffic(row),
                    ABSENT if row.hint is None else row.hint,
                    choice,
                )
            )
        self._pack_numbers()

    def _pack_numbers(self) -> None:
        self.blocks.append(
            (
                np.array(self.numbers, dtype=np.int64).reshape(-1, 6),
                np.array(self.intervals, dtype=np.int64).reshape(-1, 2),
            )
        )
        self.numbers.clear()
        self.intervals.clear()

    def table(self) -> BufferTable:
        """Return the table of all appended buffers."""
        numbers = np.concatenate([block for block, _ in self.blocks] or [np.empty((0, 6), np.int64)])
        intervals = np.concatenate([block for _, block in self.blocks] or [np.empty((0, 2), np.int64)])
        size, alignment, offset, traffic, hint, choice = (column(values) for values in numbers.T)
        return BufferTable(
            tuple(self.ids),
            size,
            column(self.first),
            column(intervals[:, 0]),
            column(intervals[:, 1]),
            alignment,
            offset,
            traffic,
            hint,
            choice,
            tuple(self.choices),
            MappingProxyType(self.aliases),
            read_only(self.rules),
        )


def parse_buffers(value: object) -> BufferTable:
    """Return the table of a list of objects or Buffers, validated in chunks; raises pydantic.ValidationError."""
    if isinstance(value, BufferTable):
        return value
    if not isinstance(value, (list, tuple)):
        raise PydanticCustomError("rule", "must be a list, got {it}", {"it": excerpt(value) + list_hint(value, "id")})
    if (plain := plain_columns(value)) is not None:
        with suppress(OverflowError, ValidationError):  # Validation by rows, below, reports all errors.
            return BufferTable.from_columns(*plain)
    builder = _Builder()

    def add(part: Sequence[Any]) -> None:
        builder.add(_BUFFERS.validate_python([drop_unknown_fields(row, Buffer.model_fields) for row in part]))

    part_by_part(value, _CHUNK, add, "buffers")
    return builder.table()


def _defaults(n: int) -> tuple[I64, I64, I64, I64]:
    return _default_columns(n) if n <= _FEW else _default_columns.__wrapped__(n)


@lru_cache(maxsize=64)
def _default_columns(n: int) -> tuple[I64, I64, I64, I64]:
    ones, zeros = np.ones(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    return freeze(ones), freeze(np.full(n, ABSENT)), freeze(np.arange(n + 1)), freeze(zeros)


def _check_columns(size: I64, start: I64, end: I64, alignment: I64, offset: I64) -> None:
    """Raise pydantic.ValidationError if a value in a column breaks a rule of Buffer, with the sentence for a Buffer."""
    breaks: list[Break] = []
    for name, values, lowest, least in (
        ("size", size, 0, 0),
        ("alignment", alignment, 1, 1),
        ("offset", offset, ABSENT, 0),
    ):
        if int(values.min(initial=lowest)) == lowest and int(values.max(initial=lowest)) <= MAX_BYTES:
            continue
        for bad, rule in ((values < lowest, f"at least {least}"), (values > MAX_BYTES, f"at most {MAX_BYTES}")):
            for i in bad.nonzero()[0][: MAX_SHOWN + 1].tolist():
                breaks.append(
                    ((i, name), add_way(f"must be {rule}, got {values[i]}", NEGATIVE if values[i] < 0 else None))
                )
    for i in (end <= start).nonzero()[0][: MAX_SHOWN + 1].tolist():
        breaks.append(((i, "end"), end_rule(int(start[i]), int(end[i]))))
    if breaks:
        raise_rules(*sorted(breaks, key=lambda entry: entry[0][0]))
