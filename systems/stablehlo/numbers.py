"""Whole numbers in programs of StableHLO from which sizes follow: computed before the program runs, as far as known."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from memplan.planner.errors import FormatError
from memplan.planner.symbols.numbers import largest, least
from memplan.systems.stablehlo.text import Array, HloOperation


class UnknownNumber:
    """A number that only the program knows, or that is another one at some values; so far above what it came from."""

    def __init__(self, base: object = None, above: int = 0) -> None:
        self.base, self.above = base or self, above

    def plus(self, other: Any) -> Any:
        """Return a sum with a number that is known."""
        return UnknownNumber() if isinstance(other, UnknownNumber) else UnknownNumber(self.base, self.above + other)


def _sum(a: Any, b: Any) -> Any:
    return a.plus(b) if isinstance(a, UnknownNumber) else b.plus(a) if isinstance(b, UnknownNumber) else a + b


def difference(a: Any, b: Any) -> Any:
    """Return a difference, which is known of numbers that are so far above the same one."""
    if isinstance(b, UnknownNumber):
        return a.above - b.above if isinstance(a, UnknownNumber) and a.base is b.base else UnknownNumber()
    return a.plus(-b) if isinstance(a, UnknownNumber) else a - b


def _quotient(a: int, b: int) -> int:
    """Return a quotient, rounded to 0; raises ZeroDivisionError for a divisor that may be below 1."""
    if not b > 0:
        raise ZeroDivisionError
    return a // b if a >= 0 else -(-a // b)


def _equal(a: int, b: int) -> bool:
    """Say whether numbers are equal; raises FormatError where that is not the same for all values."""
    return a == b or not (a < b or a > b)


def _chosen(which: Any, a: Any, b: Any) -> Any:
    if isinstance(which, UnknownNumber):
        return a if a is b or (isinstance(a, int) and isinstance(b, int) and a == b) else UnknownNumber()
    return a if which else b


_COMPARED: Mapping[str, Callable[[int, int], bool]] = {
    "EQ": _equal,
    "NE": lambda a, b: not _equal(a, b),
    "GE": operator.ge,
    "GT": operator.gt,
    "LE": operator.le,
    "LT": operator.lt,
}
_OF_UNKNOWN: Mapping[str, Callable[..., Any]] = {
    "add": _sum,
    "subtract": difference,
    "select": _chosen,
    "convert": lambda a: a,
}
"""The functions that say something of unknown numbers."""
_OF_KNOWN: Mapping[str, Callable[..., Any]] = {
    "multiply": operator.mul,
    "divide": _quotient,
    "remainder": lambda a, b: a - _quotient(a, b) * b,
    "maximum": largest,
    "minimum": least,
    "negate": operator.neg,
    "sign": lambda a: 1 if a > 0 else 0 if _equal(a, 0) else -1,
    "clamp": lambda low, a, high: least(largest(low, a), high),
    "and": operator.and_,
    "or": operator.or_,
}
_BY_JAX: Mapping[str, Callable[[int, int], int]] = {"floor_divide": operator.floordiv, "remainder": operator.mod}
"""The functions that JAX writes for quotients of sizes, in place of what they do, which has no closed form."""


def computed(operation: HloOperation, given: Sequence[Array], shape: tuple[int, ...]) -> Array | None:
    """Return the numbers that an operation makes of others; None for an operation that is not followed."""
    kind = operation.kind
    if kind == "reshape":
        return given[0].reshape(shape)
    if kind == "concatenate":
        return np.concatenate(given, axis=operation.numbers("dim", "dimension")[0])
    if kind == "broadcast_in_dim":
        rows = np.ones(len(shape), int)
        rows[operation.numbers("dims", "broadcast_dimensions")] = given[0].shape
        return np.broadcast_to(given[0].reshape(rows), shape)
    function = _COMPARED[operation.text[:2]] if kind == "compare" else _OF_UNKNOWN.get(kind) or _OF_KNOWN.get(kind)
    if function is None:
        return None

    def at(*values: Any) -> Any:
        if kind not in _OF_UNKNOWN and any(isinstance(each, UnknownNumber) for each in values):
            return UnknownNumber()
        try:
            return function(*values)
        except (FormatError, ZeroDivisionError):  # not the same for all values: unknown, unless it is not used
            return UnknownNumber()

    return np.asarray(np.frompyfunc(at, len(given), 1)(*given), object)


def by_jax(function: str, given: Sequence[Array | None]) -> Array | None:
    """Return the quotient or the rest that a function of JAX computes of sizes; None for other functions."""
    compute = _BY_JAX.get(function.rstrip("_0123456789"))
    numbers = [row.item() for row in given[-2:] if row is not None and row.size == 1]
    if compute is None or len(numbers) < 2 or not all(isinstance(each, int) for each in numbers) or numbers[1] <= 0:
        return None
    return np.array(compute(*numbers), object)
