"""FlatBuffers with new parts in front: tables are written before the bytes of a file, and point into it.

What a file has stays as it is, byte for byte; offsets of FlatBuffers only go forward, so new parts come first.
Source: the binary format, https://flatbuffers.dev/internals/.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

# That of the buffers of a TFLite file, which readers map as they lie.
_ALIGNMENT = 16
_BLOCK = 64
"""By how many bytes the old file may move: all alignments in it must divide them."""


@dataclass(frozen=True, eq=False)
class Old:
    """What lies at a byte of the file that follows."""

    at: int


@dataclass(frozen=True, eq=False)
class Scalar:
    """A number of a table."""

    value: int
    kind: Literal["b", "B", "i", "I"]


@dataclass(frozen=True, eq=False)
class Numbers:
    """A list of whole numbers of 32 bits."""

    values: Sequence[int]


@dataclass(frozen=True, eq=False)
class Content:
    """A list of bytes, aligned to 16; a text ends with a zero, which is not counted."""

    data: bytes
    is_text: bool = False


@dataclass(frozen=True, eq=False)
class Tables:
    """A list of tables, new ones or such of the file."""

    rows: Sequence[NewTable | Old]


@dataclass(frozen=True, eq=False)
class NewTable:
    """A table: its fields by their numbers. No part may be in two places."""

    fields: Mapping[int, Field]


Part: TypeAlias = Numbers | Content | Tables | NewTable
Field: TypeAlias = Scalar | Old | Part


def text(value: str) -> Content:
    """Return a text."""
    return Content(value.encode(), is_text=True)


def with_front(root: NewTable, identifier: bytes, data: bytes) -> bytes:
    """Return a FlatBuffer whose root table is new, and that ends with the bytes of another one."""
    places, end = _places(root)
    base = -(-end // _BLOCK) * _BLOCK
    out = bytearray(base)
    struct.pack_into("<I4s", out, 0, places[id(root)], identifier)
    for part in _in_turn(root):
        _write(out, part, places, base)
    return bytes(out) + data


def _in_turn(root: NewTable) -> list[Part]:
    """Return all new parts, each behind the one that points to it."""
    found: list[Part] = []
    waiting: deque[Part] = deque([root])
    while waiting:
        part = waiting.popleft()
        found.append(part)
        waiting.extend(_inside(part))
    return found


def _inside(part: Part) -> list[Part]:
    if isinstance(part, Tables):
        return [row for row in part.rows if isinstance(row, NewTable)]
    if isinstance(part, NewTable):
        return [value for value in part.fields.values() if not isinstance(value, Old | Scalar)]
    return []


def _places(root: NewTable) -> tuple[dict[int, int], int]:
    """Return where each new part lies, and where they end. A table's place is behind the list of its fields."""
    places, at = {}, 8
    for part in _in_turn(root):
        if isinstance(part, Content):
            # The length stands in four bytes before the data, and the data is what must be aligned.
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

    def point(where: int, to: Part | Old) -> None:
        struct.pack_into("<I", out, where, (base + to.at if isinstance(to, Old) else places[id(to)]) - where)

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
