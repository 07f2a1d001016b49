"""FlatBuffers: read with every bound checked, and written with new parts in front.

An offset that points outside of its file is an error with its position. Generated readers trust the file, and read
numbers from anywhere in a broken one, or lists of billions; here, all bytes read of a file are in it, and are at most a
few times as long.

The bytes of a file stay as they are, after the new parts: offsets of FlatBuffers only go forward, so tables are written
before the bytes of a file, and point into it.
Source: the binary format, https://flatbuffers.dev/internals/.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from memplan.planner.errors import FormatError

Number = Literal["b", "B", "h", "H", "i", "I", "q", "Q"]
"""Integer formats of module struct."""
_SEEN_AGAIN = 4
"""The total bytes that may be read, in file lengths, since parts may be referenced repeatedly."""


class File:
    """The bytes of a file, and how many more may be read."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        # Even a small file may share bytes between tables, so the limit has a constant part.
        self.left = _SEEN_AGAIN * len(data) + 1000
        self._distances: dict[int, tuple[int, ...]] = {}

    def number(self, at: int, kind: Number, path: str) -> int:
        """Read a number."""
        self.check(at, struct.calcsize(kind), path)
        return int(struct.unpack_from(f"<{kind}", self.data, at)[0])

    def distances(self, index: int, path: str) -> tuple[int, ...]:
        """Return each field's distance from its table, 0 for absent fields: a vtable, which many tables share."""
        if index not in self._distances:
            size = self.number(index, "H", path)
            self.check(index, size, path)
            self._distances[index] = struct.unpack_from(f"<{max(0, size - 4) // 2}H", self.data, index + 4)
        return self._distances[index]

    def check(self, at: int, size: int, path: str) -> None:
        """Raise FormatError for a range outside of the file."""
        if at < 0 or at + size > len(self.data):
            rule = f"must lie in the file ({len(self.data)} bytes)"
            raise FormatError(f"{path}: {rule}, got bytes {at} to {at + size}: is it cut short?")

    def spend(self, size: int, path: str) -> None:
        """Count bytes read; raises FormatError if the same bytes are read too often."""
        self.left -= size
        if self.left < 0:
            rule = f"must not be reached after {_SEEN_AGAIN} times the file's {len(self.data)} bytes were read"
            raise FormatError(f"{path}: {rule}")


@dataclass(frozen=True)
class Table:
    """A table in a file; fields are identified by number, and by name in errors."""

    file: File
    at: int
    path: str

    @classmethod
    def root(cls, data: bytes, name: str) -> Table:
        """Return the root table of a file."""
        file = File(data)
        return cls(file, file.number(0, "I", name), name)

    def integer(self, field: int, name: str, kind: Number, default: int = 0) -> int:
        """Return a numeric field."""
        at = self._find(field)
        return default if at is None else self.file.number(at, kind, self._path(name))

    def table(self, field: int, name: str) -> Table | None:
        """Return a table field."""
        at = self._find(field)
        return None if at is None else Table(self.file, self._follow(at, self._path(name)), self._path(name))

    def tables(self, field: int, name: str) -> Iterator[Table]:
        """Yield the tables of a list field."""
        start, count = self._list(field, name, 4)
        for k in range(count):
            path = f"{self._path(name)}[{k}]"
            yield Table(self.file, self._follow(start + 4 * k, path), path)

    def place(self, field: int, name: str) -> int | None:
        """Return the position of a field, None if it is absent."""
        return self._find(field)

    def span(self, field: int, name: str, width: int) -> tuple[int, int]:
        """Return the position and the number of a list's entries, each of `width` bytes."""
        return self._list(field, name, width)

    def pointers(self, field: int, name: str) -> tuple[int, tuple[int, ...]]:
        """Return the position of a list of tables, and the position of each table."""
        start, count = self._list(field, name, 4)
        return start, tuple(self._follow(start + 4 * k, f"{self._path(name)}[{k}]") for k in range(count))

    def integers(self, field: int, name: str, kind: Number) -> tuple[int, ...]:
        """Return a list field of integers."""
        start, count = self._list(field, name, struct.calcsize(kind))
        return struct.unpack_from(f"<{count}{kind}", self.file.data, start)

    def floats(self, field: int, name: str) -> tuple[float, ...]:
        """Return a list field of 32-bit floats."""
        start, count = self._list(field, name, 4)
        return struct.unpack_from(f"<{count}f", self.file.data, start)

    def length(self, field: int, name: str) -> int:
        """Return the length of a byte list without reading it."""
        at = self._find(field)
        return 0 if at is None else self._extent(at, 1, self._path(name))[1]

    def content(self, field: int, name: str) -> bytes:
        """Return a byte list field."""
        start, count = self._list(field, name, 1)
        return self.file.data[start : start + count]

    def text(self, field: int, name: str) -> str:
        """Return a text field; bytes that are not UTF-8 are escaped."""
        return self.content(field, name).decode(errors="backslashreplace")

    def _path(self, name: str) -> str:
        return f"{self.path}.{name}"

    def _find(self, field: int) -> int | None:
        """Return the position of a field, None if it is absent."""
        self.file.spend(4, self.path)
        distances = self._distances
        # The field belongs to a newer schema than the file, so it is absent.
        distance = distances[field] if field < len(distances) else 0
        return self.at + distance if distance else None

    @cached_property
    def _distances(self) -> tuple[int, ...]:
        # A table begins with the distance back to the index of its fields.
        return self.file.distances(self.at - self.file.number(self.at, "i", self.path), self.path)

    def _follow(self, at: int, path: str) -> int:
        return at + self.file.number(at, "I", path)

    def _list(self, field: int, name: str, width: int) -> tuple[int, int]:
        """Return the position and number of a list's entries, counted as read."""
        at = self._find(field)
        if at is None:
            return 0, 0
        path = self._path(name)
        start, count = self._extent(at, width, path)
        self.file.spend(count * width, path)
        return start, count

    def _extent(self, at: int, width: int, path: str) -> tuple[int, int]:
        where = self._follow(at, path)
        count = self.file.number(where, "I", path)
        self.file.check(where + 4, count * width, path)
        return where + 4, count


# That of the buffers of a TFLite file, which readers map as they lie.
_ALIGNMENT = 16
_BLOCK = 64
"""The granularity by which the old file may move; every alignment in it must divide this."""


@dataclass(frozen=True, eq=False)
class OldReference:
    """A reference to a byte of the old file."""

    at: int


@dataclass(frozen=True, eq=False)
class Scalar:
    """A numeric field of a table."""

    value: int
    kind: Literal["b", "B", "i", "I"]


@dataclass(frozen=True, eq=False)
class Numbers:
    """A list of 32-bit integers."""

    values: Sequence[int]


@dataclass(frozen=True, eq=False)
class Content:
    """A list of bytes, aligned to 16; a text has an uncounted terminating zero."""

    data: bytes
    is_text: bool = False


@dataclass(frozen=True, eq=False)
class Tables:
    """A list of tables, new or from the old file."""

    rows: Sequence[NewTable | OldReference]


@dataclass(frozen=True, eq=False)
class NewTable:
    """A new table: its fields by number. Each part may occur only once."""

    fields: Mapping[int, Field]


Part: TypeAlias = Numbers | Content | Tables | NewTable
Field: TypeAlias = Scalar | OldReference | Part


def text(value: str) -> Content:
    """Return a text in the form in which a file stores it."""
    return Content(value.encode(), is_text=True)


def prepend_root(root: NewTable, identifier: bytes, data: bytes) -> bytes:
    """Return a FlatBuffer with a new root table, followed by the bytes of an old one."""
    places, end = _places(root)
    base = -(-end // _BLOCK) * _BLOCK
    out = bytearray(base)
    struct.pack_into("<I4s", out, 0, places[id(root)], identifier)
    for part in _part_order(root):
        _write(out, part, places, base)
    return bytes(out) + data


def _part_order(root: NewTable) -> list[Part]:
    """Return all new parts, each after the part that refers to it."""
    parts: list[Part] = []
    waiting: deque[Part] = deque([root])
    while waiting:
        part = waiting.popleft()
        parts.append(part)
        waiting.extend(_inner_parts(part))
    return parts


def _inner_parts(part: Part) -> list[Part]:
    if isinstance(part, Tables):
        return [row for row in part.rows if isinstance(row, NewTable)]
    if isinstance(part, NewTable):
        return [value for value in part.fields.values() if not isinstance(value, OldReference | Scalar)]
    return []


def _places(root: NewTable) -> tuple[dict[int, int], int]:
    """Return the position of each new part, and the end. The position of a table is the end of its vtable."""
    places, at = {}, 8
    for part in _part_order(root):
        if isinstance(part, Content):
            # The length takes the four bytes before the data, and the data must be aligned.
            at = -(-(at + 4) // _ALIGNMENT) * _ALIGNMENT - 4
            places[id(part)], size = at, 4 + len(part.data) + part.is_text
        elif isinstance(part, NewTable):
            index = -(-(4 + 2 * _slots(part)) // 4) * 4
            places[id(part)], size = at + index, index + 4 + 4 * len(part.fields)
        else:
            places[id(part)], size = at, 4 + 4 * len(part.values if isinstance(part, Numbers) else part.rows)
        at = -(-(at + size) // 4) * 4
    return places, at


def _slots(table: NewTable) -> int:
    return max(table.fields, default=-1) + 1


def _write(out: bytearray, part: Part, places: Mapping[int, int], base: int) -> None:
    at = places[id(part)]

    def point(where: int, to: Part | OldReference) -> None:
        struct.pack_into("<I", out, where, (base + to.at if isinstance(to, OldReference) else places[id(to)]) - where)

    if isinstance(part, Content):
        struct.pack_into(f"<I{len(part.data)}s", out, at, len(part.data), part.data)
    elif isinstance(part, Numbers):
        struct.pack_into(f"<I{len(part.values)}i", out, at, len(part.values), *part.values)
    elif isinstance(part, Tables):
        struct.pack_into("<I", out, at, len(part.rows))
        for k, row in enumerate(part.rows):
            point(at + 4 + 4 * k, row)
    else:
        slots = _slots(part)
        index = at - -(-(4 + 2 * slots) // 4) * 4
        order = {number: 4 + 4 * k for k, number in enumerate(part.fields)}
        offsets = [order.get(number, 0) for number in range(slots)]
        struct.pack_into(f"<HH{slots}H", out, index, 4 + 2 * slots, 4 + 4 * len(part.fields), *offsets)
        struct.pack_into("<i", out, at, at - index)
        for number, value in part.fields.items():
            if isinstance(value, Scalar):
                struct.pack_into(f"<{value.kind}", out, at + order[number], value.value)
            else:
                point(at + order[number], value)
