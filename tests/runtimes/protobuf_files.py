"""A writer of protocol buffers for tests, which shares no code with the reader."""

from collections.abc import Mapping

Content = int | str | bytes


def message(fields: Mapping[int, Content | list[bytes]]) -> bytes:
    """Return the bytes of a message; a list is written as a repeated field, and bytes as a nested message."""
    lists = {number: values if isinstance(values, list) else [values] for number, values in fields.items()}
    return b"".join(field(number, value) for number, values in lists.items() for value in values)


def field(number: int, value: Content) -> bytes:
    """Return the bytes of one field: its number and wire type, followed by its value."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value % (1 << 64))
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    """Return a number as a varint: seven bits per byte, the lowest first."""
    groups = [value & 0x7F]
    while value := value >> 7:
        groups.append(value & 0x7F)
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])
