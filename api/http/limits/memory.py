"""The memory that reading a body takes, told from its bytes before anything parses them."""

from __future__ import annotations

from memplan.api.http.problem_details import TooLargeError

_VALUE_BYTES, _OBJECT_BYTES = 128, 400
"""The most bytes that a value of a list or a table takes, parsed, checked and compiled; and what an object adds."""
_MOST_A_BYTE = (_VALUE_BYTES + _OBJECT_BYTES) // 3 + 1
"""The most that a byte can stand for: `{},`."""
_PART = 2**20
"""The bytes that are counted before other threads have a turn."""


def check_memory(body: bytes, most: int) -> None:
    """Raise TooLargeError for a body that would take more than `most` bytes once it is read. O(its bytes), any thread.

    The estimate counts commas, lists and objects; it is meant to be high, and short bodies are not looked at.
    """
    if is_surely_read_in(len(body), most):
        return
    needed = len(body)
    for low in range(0, len(body), _PART):
        values, objects = (
            sum(body.count(mark, low, low + _PART) for mark in marks) for marks in ((b",", b"["), (b"{",))
        )
        needed += _VALUE_BYTES * values + _OBJECT_BYTES * objects
    if needed > most:
        raise TooLargeError(f"body: must take at most {most} bytes of memory once it is read, got {needed}")


def is_surely_read_in(count: int, most: int) -> bool:
    """Return True if no body of so many bytes takes more than `most`."""
    return count * _MOST_A_BYTE <= most
