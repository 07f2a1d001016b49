"""Integers that depend on symbols: readers of models compute with them as with any integer, and get expressions.

Such a number has a value at one sample point, and a polynomial for all values of the symbols. Sums, products and
quotients update both. Comparisons are proved for all values; a comparison that is true only at some values raises
FormatError.
"""

from collections.abc import Mapping
from typing import Any, Self

from memplan.planner.errors import FormatError, Option
from memplan.planner.model.rows import MAX_BYTES
from memplan.programs.symbols.comparing import Comparer
from memplan.programs.symbols.polynomials import (
    Polynomial,
    constant,
    constant_value,
    exact_quotient,
    minus,
    plus,
    scale,
    times,
)
from memplan.programs.symbols.space import Space, SymbolRange, Values

_MOST_TERMS = 1_000


class SymbolicNumbers:
    """The maker of symbolic numbers over some symbols; as integers, they have their values at a sample point.

    At this point, different sizes rarely coincide. `prefix` marks the text of such a number among the names of
    dimensions.
    """

    prefix = "="

    def __init__(self, symbols: Mapping[str, SymbolRange]) -> None:
        """Choose a sample point in the ranges of the symbols."""
        self.space = Space.from_symbols(symbols)
        self.compare = Comparer(self.space)
        self.point: Values = {name: _sample_value(each, i) for i, (name, each) in enumerate(self.space.symbols.items())}
        self._by_text: dict[str, int] = {}

    def symbol(self, name: str) -> int:
        """Return a symbol as a number that depends on it."""
        return self.number_of(self.space.symbol(name))

    def number_of(self, form: Polynomial) -> int:
        """Return a polynomial as a symbolic number, or as a plain int if it has no symbols."""
        if (value := constant_value(form)) is not None:
            return value
        if len(form) > _MOST_TERMS:
            raise FormatError(f"sizes: must have at most {_MOST_TERMS} terms when multiplied out, got {len(form)}")
        return SymbolicNumber(self, form)

    def text(self, value: int) -> str:
        """Return the text of a symbolic number, which can be used as the name of a dimension."""
        assert isinstance(value, SymbolicNumber)
        text = f"{self.prefix}{value}"
        self._by_text[text] = value
        return text

    def number_of_text(self, text: str) -> int | None:
        """Return the symbolic number that has the given text, or None."""
        return self._by_text.get(text)


class SymbolicNumber(int):
    """An integer that is a polynomial over symbols, with the polynomial's value at the sample point."""

    numbers: SymbolicNumbers
    form: Polynomial

    def __new__(cls, numbers: SymbolicNumbers, form: Polynomial) -> Self:
        """Return the number for a polynomial; as an int, it has the polynomial's value at the sample point."""
        made = super().__new__(cls, numbers.space.value(form, numbers.point))
        made.numbers, made.form = numbers, form
        return made

    def __str__(self) -> str:
        return self.numbers.space.text(self.form)

    __repr__ = __str__

    def __add__(self, other: int) -> int:
        return self.numbers.number_of(plus(self.form, _polynomial_of(other)))

    def __sub__(self, other: int) -> int:
        return self.numbers.number_of(minus(self.form, _polynomial_of(other)))

    def __rsub__(self, other: int) -> int:
        return self.numbers.number_of(minus(_polynomial_of(other), self.form))

    def __mul__(self, other: int) -> int:
        return self.numbers.number_of(times(self.form, _polynomial_of(other)))

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> int:
        return self.numbers.number_of(scale(self.form, -1))

    def __floordiv__(self, other: int) -> int:
        """Return the quotient, rounded down; raises FormatError unless the divisor is a number or divides exactly."""
        divisor = _polynomial_of(other)
        if (exact := exact_quotient(self.form, divisor)) is not None:
            return self.numbers.number_of(exact)
        value = constant_value(divisor)
        if value is None or value < 1:
            raise FormatError(
                f"sizes: must be divided by a number, or without remainder for all values, got {self} // {other}"
            )
        return self.numbers.number_of(self.numbers.space.floor(self.form, value))

    def __rfloordiv__(self, other: int) -> int:
        """Return 0 for 0 // self. Raises FormatError for any other number."""
        if other == 0:
            return 0
        raise FormatError(
            f"sizes: must be divided by a number, or without remainder for all values, got {other} // {self}"
        )

    def __mod__(self, other: int) -> int:
        return self - self // other * other

    def __rmod__(self, other: int) -> int:
        return other - other // self * self

    def __eq__(self, other: object) -> bool:
        """Return True if both numbers are equal for all values of the symbols.

        Numbers that are equal only at some values count as different. This is safe, because the problem is later
        compared with the problems read at corners of the ranges (`memplan.extensions.shapes.symbolic_models`).
        """
        return isinstance(other, int) and not minus(self.form, _polynomial_of(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return int.__hash__(self)

    def __le__(self, other: int) -> bool:
        return self._is_at_most(other, 0)

    def __lt__(self, other: int) -> bool:
        return self._is_at_most(other, 1)

    def __ge__(self, other: int) -> bool:
        return not self < other

    def __gt__(self, other: int) -> bool:
        return not self <= other

    def __bool__(self) -> bool:
        return True

    def _is_at_most(self, other: int, less: int) -> bool:
        """Return True if `self <= other - less` at all symbol values, False if at none; else raise FormatError."""
        if abs(int(other)) >= MAX_BYTES:  # A later check limits the total of all sizes, so skip the proof here.
            return int(self) <= int(other) - less
        room = minus(_polynomial_of(other), plus(self.form, constant(less)))
        compare, other_way = self.numbers.compare, minus(constant(-1), room)
        if compare.is_never_negative(room):
            return True
        if compare.is_never_negative(other_way) or compare.negative_point(other_way) is False:
            return False
        if compare.negative_point(room) is False:
            return True
        rule = f"sizes: must compare equally for all values, got {self} <= {other - less}; a narrower range of a symbol"
        raise FormatError((f"{rule}, such as ", Option("symbol", "n=2..2048"), ", may decide it"))


def max_number(left: int, right: int) -> int:
    """Return the larger number; if symbol values decide which one is larger, return a `max` expression."""
    return _min_or_max(left, right, at_most=False)


def min_number(left: int, right: int) -> int:
    """Return the smaller number; if symbol values decide which one is smaller, return a `min` expression."""
    return _min_or_max(left, right, at_most=True)


def _min_or_max(left: int, right: int, *, at_most: bool) -> int:
    """Return the smaller number if `at_most`, else the larger; if symbol values decide, a min or max expression."""
    over: Any = left if isinstance(left, SymbolicNumber) else right
    if not isinstance(over, SymbolicNumber):
        return min(left, right) if at_most else max(left, right)
    numbers, forms = over.numbers, [_polynomial_of(left), _polynomial_of(right)]
    if numbers.compare.is_never_above(*forms):
        return left if at_most else right
    if numbers.compare.is_never_above(*reversed(forms)):
        return right if at_most else left
    return numbers.number_of(numbers.space.minimum(forms) if at_most else numbers.space.maximum(forms))


def _polynomial_of(value: int) -> Polynomial:
    return value.form if isinstance(value, SymbolicNumber) else constant(int(value))


def _sample_value(symbol: SymbolRange, place: int) -> int:
    low, high = symbol.steps
    step = max(low, 3) + 8 + 3 * place
    return symbol.multiple_of * (step if high is None else min(step, max(low, high - 1 - place)))
