"""Symbols for the open (unknown) sizes of arguments, with the names, ranges and divisors that a program asserts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from memplan.planner.errors import MAX_SHOWN, excerpt
from memplan.planner.foreign.imported import OpenSizesError
from memplan.planner.model.rows import MAX_BYTES
from memplan.programs.symbols.numbers import SymbolicNumber, SymbolicNumbers, max_number
from memplan.programs.symbols.polynomials import Polynomial, minus
from memplan.programs.symbols.space import Floor, SymbolRange


class _LinearForm(NamedTuple):
    """A linear form `factor * x + above`; x is a size, divided by `divisor` (at least 1) and rounded down."""

    size: str
    divisor: int
    factor: int
    above: int


@dataclass
class OpenSizes:
    """The open (unknown) sizes of arguments, such as `arg0.1`: multiples of symbols, or sizes that follow from others.

    `named` maps names in the program to numbers. `asserted` has the comparisons that the program asserts.
    """

    places: Sequence[str]
    numbers: SymbolicNumbers = field(init=False)
    symbols: dict[str, SymbolRange] = field(default_factory=dict)
    named: dict[str, Any] = field(default_factory=dict)
    asserted: list[tuple[str, Any, Any]] = field(default_factory=list)
    _named: dict[str, tuple[str, int]] = field(default_factory=dict)
    _following: dict[str, Polynomial] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.numbers = SymbolicNumbers({place: SymbolRange() for place in self.places})

    def name_symbols(self) -> None:
        """Set the symbols: each gets the name that the program uses, and the range that follows from its assertions."""
        ranges: dict[tuple[str, int], tuple[int, int | None]] = {}
        for name, number in self.named.items():
            line = self._linear_form(number.form) if isinstance(number, SymbolicNumber) else None
            if line and line[2:] == (1, 0):
                self._named.setdefault(line.size, (name, line.divisor))
        for kind, left, right in self.asserted:
            if not isinstance(left, SymbolicNumber):
                continue
            form = minus(left.form, right.form if isinstance(right, SymbolicNumber) else {(): right} if right else {})
            line, whole = self._linear_form(form), self._linear_form(left.form)
            if kind == "EQ" and whole and whole.size not in self._named and whole[1:] == (1, 1, 0):
                self._following[whole.size] = minus(left.form, form)
            elif kind == "GE" and line and abs(line.factor) == 1:
                low, high = ranges.get(line[:2], (1, None))
                upper = min(line.above, high or MAX_BYTES)
                ranges[line[:2]] = (max(low, -line.above), high) if line.factor == 1 else (low, upper)
        for place in self.places:
            if place not in self._following:
                name, factor = self._named.setdefault(place, (place, 1))
                low, high = ranges.get((place, factor), (1, None))
                self.symbols[name] = SymbolRange(min=low, max=high)

    def sizes(self, dims: Mapping[str, int]) -> dict[str, int]:
        """Map each open size, such as `arg0.1`, to its value. Raises OpenSizesError if `dims` lacks a symbol."""
        named = {place: self._named[place] for place in self.places if place not in self._following}
        if missing := dict.fromkeys((name for name, _ in named.values() if name not in dims), 1):
            places = [place for place, (name, _) in named.items() if name in missing]
            got = ", ".join([*map(excerpt, missing)][:MAX_SHOWN])
            sizes = "a size" if len(missing) == 1 else "sizes"
            raise OpenSizesError(f"{', '.join(places[:MAX_SHOWN])}: must have {sizes}, got none for {got}", missing)
        symbol_sizes = {place: dims[name] * factor for place, (name, factor) in named.items()}
        return symbol_sizes | {place: self._value_at(form, symbol_sizes) for place, form in self._following.items()}

    def _linear_form(self, form: Polynomial) -> _LinearForm | None:
        """Return a polynomial as a linear form in one size, which may be divided by a constant and rounded down.

        Return None for any other polynomial.
        """
        terms = [(monomial, factor) for monomial, factor in form.items() if monomial]
        if len(terms) != 1 or len(terms[0][0]) != 1:
            return None
        (name,), factor = terms[0]
        atom = self.numbers.space.atoms.get(name)
        if atom is None:
            return _LinearForm(name, 1, factor, form.get((), 0))
        if not isinstance(atom, Floor) or (inner := self._linear_form(atom.inner)) is None or inner[1:] != (1, 1, 0):
            return None
        return _LinearForm(inner.size, atom.divisor, factor, form.get((), 0))

    def _value_at(self, form: Polynomial, sizes: Mapping[str, int]) -> int:
        """Return the value of a polynomial at `sizes`; a size may be an expression of symbols."""
        total = 0
        for monomial, factor in form.items():
            for name in monomial:
                atom = self.numbers.space.atoms.get(name)
                if atom is None:
                    factor = sizes[name] * factor
                elif isinstance(atom, Floor):
                    factor = self._value_at(atom.inner, sizes) // atom.divisor * factor
                else:
                    factor = max_number(self._value_at(atom.inner, sizes), 0) * factor
            total = factor + total
        return total
