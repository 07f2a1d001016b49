"""Values that may be None, of which a test needs the value."""

from typing import TypeVar

T = TypeVar("T")


def require_value(value: T | None) -> T:
    """Return the value, after asserting that it is not None."""
    assert value is not None
    return value
