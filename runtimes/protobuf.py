"""Parser of protocol buffers that reads single fields and checks every bound, for formats with few needed fields.

A message is split into its fields once. A nested message is split only when it is read, so that parts that are not
needed cost nothing. Source: https://protobuf.dev/programming-guides/encoding/.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from memplan.planner.errors import CUT_OFF, FormatError

# Wire types of protocol buffers. Types 3 and 4 (groups) are missing, because no format that is read here uses them.
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_FIXED = {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}
# Each byte of a varint holds seven bits, so a varint of 64 bits needs ten bytes.
_LONGEST_VARINT = 10
_NO_END = (1 << 64) - 1

Range = tuple[int, int]


@dataclass(frozen=True)
class ProtobufMessage:
    """A message in the bytes from `start` to `end` of a file. Fields are read by number; names only occur in errors."""

    data: bytes
    start: int
    end: int
    path: str

    @classmethod
    def root(cls, data: bytes, path: str) -> ProtobufMessage:
        """Return the whole file as a message."""
        return cls(data, 0, len(data), path)

    def integer(self, field: int, name: str, default: int = 0) -> int:
        """Return the value of an int64 field, or `default` if it is absent; of several values, return the last one."""
        field_value = self._fields.get(field)
        if field_value is None:
            return default
        # By the specification, the last value counts if a field that is not repeated occurs several times.
        value, end = field_value[-2:]
        if end != _NO_END:
            raise FormatError(f"{self.path}.{name}: must be an integer")
        return value - (1 << 64) if value >> 63 else value

    def integers(self, field: int, name: str) -> tuple[int, ...]:
        """Return the values of a repeated int64 field, which may be packed or not."""
        values: list[int] = []
        for at, end in _value_pairs(self._fields.get(field)):
            if end == _NO_END:
                values.append(at)
                continue
            packed = ProtobufMessage(self.data, at, end, f"{self.path}.{name}")
            while at < end:
                number, at = packed._varint(at)
                values.append(number)
        return tuple(number - (1 << 64) if number >> 63 else number for number in values)

    def text(self, field: int, name: str) -> str:
        """Return a text field, in which bytes that are not UTF-8 are escaped, or "" if the field is absent."""
        start, end = next(self._byte_ranges(field, name), (0, 0))
        return self.data[start:end].decode(errors="backslashreplace")

    def messages(self, field: int, name: str) -> Iterator[ProtobufMessage]:
        """Yield the messages of a repeated field."""
        for k, (start, end) in enumerate(self._byte_ranges(field, name)):
            yield ProtobufMessage(self.data, start, end, f"{self.path}.{name}[{k}]")

    def message(self, field: int, name: str) -> ProtobufMessage | None:
        """Return the first message in a field, or None if the field is absent."""
        span = next(self._byte_ranges(field, name), None)
        return None if span is None else ProtobufMessage(self.data, *span, f"{self.path}.{name}")

    def _byte_ranges(self, field: int, name: str) -> Iterator[Range]:
        """Yield (start, end) of each value of a field with a length. Raises FormatError for an integer field."""
        for start, end in _value_pairs(self._fields.get(field)):
            if end == _NO_END:
                raise FormatError(f"{self.path}.{name}: must be a field with a length, got the integer {start}")
            yield start, end

    @cached_property
    def _fields(self) -> dict[int, array[int]]:
        """Maps the number of each field to its values, as a flat array of pairs.

        A pair is (integer, _NO_END) or, for a field with a length, (start, end) of a range of bytes.
        """
        fields: dict[int, array[int]] = defaultdict(lambda: array("Q"))
        at = self.start
        while at < self.end:
            key, at = self._varint(at)
            kind = key & 7
            if kind == _VARINT:
                value, at = self._varint(at)
                fields[key >> 3].extend((value, _NO_END))
                continue
            if kind == _BYTES:
                size, at = self._varint(at)
            elif kind in _FIXED:
                size = _FIXED[kind]
            else:
                raise FormatError(f"{self.path}: must be a message, got a field of kind {kind} before byte {at}")
            if size > self.end - at:
                rule = f"must not extend beyond its last byte ({self.end})"
                raise FormatError(f"{self.path}: {rule}, got a field of {size} bytes from byte {at}", way=CUT_OFF)
            fields[key >> 3].extend((at, at + size))
            at += size
        return fields

    def _varint(self, at: int) -> tuple[int, int]:
        """Return the varint (an unsigned 64-bit number) at a position, and the position after it."""
        value = 0
        for k in range(_LONGEST_VARINT):
            if at + k >= self.end:
                break
            byte = self.data[at + k]
            value |= (byte & 0x7F) << (7 * k)
            if byte < 0x80:
                return value & (1 << 64) - 1, at + k + 1
        raise FormatError(f"{self.path}: must have numbers of at most 10 bytes, got an unfinished one at byte {at}")


def _value_pairs(found: array[int] | None) -> Iterator[Range]:
    return iter(()) if found is None else zip(found[::2], found[1::2], strict=True)
