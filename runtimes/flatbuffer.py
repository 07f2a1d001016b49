"""Reader of FlatBuffers that checks all bounds, and writer that puts new tables in front of an existing file.

An offset outside the file raises an error that states its position. Generated readers trust the file, so they read
arbitrary memory if the file is broken. Here, the total of bytes read is limited to a few times the file's length.

Offsets of FlatBuffers only lead forward. New tables are therefore written before the old bytes, which stay unchanged,
and refer to them.

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
"""The integer formats of the module `struct` that are used."""
_SEEN_AGAIN = 4
"""The limit on the total of bytes read, in file lengths; it exceeds 1 because tables may share bytes."""


class File:
    """The bytes of a FlatBuffers file; `left` is the number of bytes that may still be read."""

    def __init__(self, data: bytes) -> None:
        """Store the file and set the limit on the total of bytes read, a few times the file's length."""
        self.data = data
        # The tables of a small file may share most of their bytes, so add a constant to the limit of bytes read.
        self.left = _SEEN_AGAIN * len(data) + 1000
        self._distances: dict[int, tuple[int, ...]] = {}

    def number(self, at: int, kind: Number, path: str) -> int:
        """Return the integer of format `kind` at byte `at`; raises FormatError if a byte of it is outside the file."""
        self.check(at, struct.calcsize(kind), path)
        return int(struct.unpack_from(f"<{kind}", self.data, at)[0])

    def distances(self, index: int, path: str) -> tuple[int, ...]:
        """Return the vtable at byte `index`: the distance of each field from the start of its table, 0 if absent."""
        if index not in self._distances:
            size = self.number(index, "H", path)
            self.check(index, size, path)
            self._distances[index] = struct.unpack_from(f"<{max(0, size - 4) // 2}H", self.data, index + 4)
        return self._distances[index]

    def check(self, at: int, size: int, path: str) -> None:
        """Raise FormatError unless the bytes from `at` to `at + size` are inside the file."""
        if at < 0 or at + size > len(self.data):
            raise FormatError(
                f"{path}: must lie in the file ({len(self.data)} bytes), got bytes {at} to {at + size}: is the "
                "file cut short?"
            )

    def count_read_bytes(self, size: int, path: str) -> None:
        """Count `size` bytes as read; raises FormatError if too many bytes have been read in total."""
        self.left -= size
        if self.left < 0:
            raise FormatError(
                f"{path}: must not require reading over {_SEEN_AGAIN} times the file's {len(self.data)} bytes"
            )


@dataclass(frozen=True)
class Table:
    """The table that starts at byte `at` of a FlatBuffers file. Its fields are read by number.

    Errors state the path of a field, which consists of the table's `path` and the field's name.
    """

    file: File
    at: int
    path: str

    @classmethod
    def root(cls, data: bytes, name: str) -> Table:
        """Return the root table of the FlatBuffers file `data`; errors call this table `name`."""
        file = File(data)
        return cls(file, file.number(0, "I", name), name)

    def integer(self, field: int, name: str, kind: Number, default: int = 0) -> int:
        """Return the value of an integer field; `default` if the field is absent."""
        at = self._field_position(field)
        return default if at is None else self.file.number(at, kind, self._path(name))

    def table(self, field: int, name: str) -> Table | None:
        """Return the table to which a field refers; None if the field is absent."""
        at = self._field_position(field)
        return None if at is None else Table(self.file, self._referenced_byte(at, self._path(name)), self._path(name))

    def tables(self, field: int, name: str) -> Iterator[Table]:
        """Yield the tables of a list field. Yields nothing if the field is absent."""
        start, count = self._list_extent(field, name, 4)
        for k in range(count):
            path = f"{self._path(name)}[{k}]"
            yield Table(self.file, self._referenced_byte(start + 4 * k, path), path)

    def field_offset(self, field: int, name: str) -> int | None:
        """Return the position in the file, in bytes, of a field's value; None if the field is absent."""
        return self._field_position(field)

    def list_range(self, field: int, name: str, width: int) -> tuple[int, int]:
        """Return (first byte, number of entries) of a list field whose entries have `width` bytes each."""
        return self._list_extent(field, name, width)

    def pointers(self, field: int, name: str) -> tuple[int, tuple[int, ...]]:
        """Return (position of a list's first entry, positions of its tables), in bytes; (0, ()) if it is absent."""
        start, count = self._list_extent(field, name, 4)
        return start, tuple(self._referenced_byte(start + 4 * k, f"{self._path(name)}[{k}]") for k in range(count))

    def integers(self, field: int, name: str, kind: Number) -> tuple[int, ...]:
        """Return the values of a field that is a list of integers; empty if the field is absent."""
        start, count = self._list_extent(field, name, struct.calcsize(kind))
        return struct.unpack_from(f"<{count}{kind}", self.file.data, start)

    def floats(self, field: int, name: str) -> tuple[float, ...]:
        """Return the values of a field that is a list of 32-bit floats; empty if the field is absent."""
        start, count = self._list_extent(field, name, 4)
        return struct.unpack_from(f"<{count}f", self.file.data, start)

    def byte_count(self, field: int, name: str) -> int:
        """Return the length of a list field in entries without counting its bytes as read; 0 if the field is absent."""
        at = self._field_position(field)
        return 0 if at is None else self._extent_at(at, 1, self._path(name))[1]

    def content(self, field: int, name: str) -> bytes:
        """Return the bytes of a field that is a list of bytes; empty if the field is absent."""
        start, count = self._list_extent(field, name, 1)
        return self.file.data[start : start + count]

    def text(self, field: int, name: str) -> str:
        """Return the text of a field, empty if it is absent; bytes that are not UTF-8 are escaped."""
        return self.content(field, name).decode(errors="backslashreplace")

    def _path(self, name: str) -> str:
        return f"{self.path}.{name}"

    def _field_position(self, field: int) -> int | None:
        """Return the position of a field's value in the file, in bytes; None if the field is absent."""
        self.file.count_read_bytes(4, self.path)
        distances = self._distances
        # A vtable that is too short for a field follows an older schema without that field.
        distance = distances[field] if field < len(distances) else 0
        return self.at + distance if distance else None

    @cached_property
    def _distances(self) -> tuple[int, ...]:
        # A table of a FlatBuffer begins with the distance back to the table's vtable.
        return self.file.distances(self.at - self.file.number(self.at, "i", self.path), self.path)

    def _referenced_byte(self, at: int, path: str) -> int:
        return at + self.file.number(at, "I", path)

    def _list_extent(self, field: int, name: str, width: int) -> tuple[int, int]:
        at = self._field_position(field)
        if at is None:
            return 0, 0
        path = self._path(name)
        start, count = self._extent_at(at, width, path)
        self.file.count_read_bytes(count * width, path)
        return start, count

    def _extent_at(self, at: int, width: int, path: str) -> tuple[int, int]:
        where = self._referenced_byte(at, path)
        count = self.file.number(where, "I", path)
        self.file.check(where + 4, count * width, path)
        return where + 4, count


# Programs use the buffers of a mapped TFLite file without copying, so the file aligns each buffer to 16 bytes.
_ALIGNMENT = 16
_BLOCK = 64
"""The old bytes move by a multiple of this number, so that every alignment in them is preserved."""


@dataclass(frozen=True, eq=False)
class OldReference:
    """A reference from a new table to byte `at` of the old file."""

    at: int


@dataclass(frozen=True, eq=False)
class Scalar:
    """An integer field of a new table; `kind` is its binary format (as in the module `struct`)."""

    value: int
    kind: Literal["b", "B", "i", "I"]


@dataclass(frozen=True, eq=False)
class Numbers:
    """A new list of 32-bit integers."""

    values: Sequence[int]


@dataclass(frozen=True, eq=False)
class Content:
    """A new list of bytes, aligned to 16 bytes. A text ends with a zero byte that is not part of its length."""

    data: bytes
    is_text: bool = False


@dataclass(frozen=True, eq=False)
class Tables:
    """A new list of tables, each of which is new or refers to a table of the old file."""

    rows: Sequence[NewTable | OldReference]


@dataclass(frozen=True, eq=False)
class NewTable:
    """A new table, whose fields are keyed by their numbers. Each part (table or list) may occur only once in a file."""

    fields: Mapping[int, Field]


Part: TypeAlias = Numbers | Content | Tables | NewTable
Field: TypeAlias = Scalar | OldReference | Part


def text(value: str) -> Content:
    """Return a text field's content, encoded in UTF-8."""
    return Content(value.encode(), is_text=True)


def prepend_root(root: NewTable, identifier: bytes, data: bytes) -> bytes:
    """Return the bytes of a FlatBuffer with the new root table `root`, followed by the bytes `data` of the old file."""
    places, end = _part_offsets(root)
    base = -(-end // _BLOCK) * _BLOCK
    out = bytearray(base)
    struct.pack_into("<I4s", out, 0, places[id(root)], identifier)
    for part in _part_order(root):
        _write_part(out, part, places, base)
    return bytes(out) + data


def _part_order(root: NewTable) -> list[Part]:
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


def _part_offsets(root: NewTable) -> tuple[dict[int, int], int]:
    """Return the positions of new parts in bytes, keyed by a part's identity, and the end of the last part.

    The position of a table is the end of its vtable, where the table itself starts.
    """
    places, at = {}, 8
    for part in _part_order(root):
        if isinstance(part, Content):
            # The length is stored in the four bytes before the data; the data are aligned, and the length is not.
            at = -(-(at + 4) // _ALIGNMENT) * _ALIGNMENT - 4
            places[id(part)], size = at, 4 + len(part.data) + part.is_text
        elif isinstance(part, NewTable):
            index = -(-(4 + 2 * _vtable_length(part)) // 4) * 4
            places[id(part)], size = at + index, index + 4 + 4 * len(part.fields)
        else:
            places[id(part)], size = at, 4 + 4 * len(part.values if isinstance(part, Numbers) else part.rows)
        at = -(-(at + size) // 4) * 4
    return places, at


def _vtable_length(table: NewTable) -> int:
    return max(table.fields, default=-1) + 1


def _write_part(out: bytearray, part: Part, places: Mapping[int, int], base: int) -> None:
    """Write a part into `out` at its position in `places`; `base` is the position in `out` of the old file's start."""
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
        slots = _vtable_length(part)
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
