"""Values that may be None, of which a test needs the value, and rows of buffers."""

from typing import Any, TypeVar

T = TypeVar("T")


def require_value(value: T | None) -> T:
    """Return the value, after asserting that it is not None."""
    assert value is not None
    return value


def buffer_rows(**lives: tuple[int, int, int]) -> list[dict[str, Any]]:
    """Return a row for each name, with its size, start and end."""
    return [{"id": name, "size": size, "start": start, "end": end} for name, (size, start, end) in lives.items()]
