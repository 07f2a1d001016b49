"""Symbols with their ranges, and the atoms over these symbols (floors and positive parts of polynomials)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from memplan.planner.errors import ProblemError
from memplan.planner.model.rows import MAX_BYTES, Value
from memplan.programs.symbols.polynomials import (
    Key,
    Polynomial,
    constant,
    constant_value,
    hashable_form,
    minus,
    plus,
    scale,
    variable,
    variable_names,
)

Values = Mapping[str, int]
"""The type of symbol values, by the name of the symbol."""
Columns = dict[str, NDArray[np.int64]]
"""The type of each variable's values at several points, where symbols are counted in steps of their divisor."""


class SymbolRange(Value):
    """The values of a symbol."""

    min: Annotated[int, Field(ge=0, le=MAX_BYTES)] = 1
    """The least value."""
    max: Annotated[int, Field(ge=0, le=MAX_BYTES)] | None = None
    """The largest value; by default, there is none."""
    multiple_of: Annotated[int, Field(ge=1, le=MAX_BYTES)] = 1
    """All values are multiples of this number."""

    @property
    def steps(self) -> tuple[int, int | None]:
        """The first and last value of the symbol, counted in steps of `multiple_of`; the last is None if unbounded."""
        return -(-self.min // self.multiple_of), None if self.max is None else self.max // self.multiple_of


class Floor(NamedTuple):
    """The atom `floor(inner / divisor)` of a polynomial `inner`."""

    inner: Polynomial
    divisor: int


class PositivePart(NamedTuple):
    """The atom `max(inner, 0)` of a polynomial `inner`."""

    inner: Polynomial


Atom = Floor | PositivePart


@dataclass
class Space:
    """The variables of polynomials: symbols, and atoms (floors and positive parts), which are created on demand.

    Atoms have names such as `@0`. A symbol counts steps of its divisor, so that `(b*h*w)//64` needs no atom if h and w
    are multiples of 8.
    """

    symbols: Mapping[str, SymbolRange]
    atoms: dict[str, Atom] = field(default_factory=dict)
    _names: dict[tuple[str, Key, int], str] = field(default_factory=dict)

    @classmethod
    def from_symbols(cls, symbols: Mapping[str, SymbolRange]) -> "Space":
        """Return a space with these symbols and no atoms (floors, maxima); raises ProblemError for an empty range."""
        wrong = []
        for name, symbol in symbols.items():
            low, high = symbol.steps
            if high is not None and high < low:
                if symbol.max is not None and symbol.max < symbol.min:
                    wrong.append(f"symbols.{name}.max: must be at least min ({symbol.min}), got {symbol.max}: swapped?")
                    continue
                divisor = f" that are multiples of {symbol.multiple_of}" if symbol.multiple_of > 1 else ""
                wrong.append(f"symbols.{name}: must have a value from {symbol.min} to {symbol.max}{divisor}")
        if wrong:
            raise ProblemError(*wrong)
        return cls(symbols)

    @property
    def is_bounded(self) -> bool:
        """True if each symbol has a maximum."""
        return all(symbol.max is not None for symbol in self.symbols.values())

    def symbol(self, name: str) -> Polynomial:
        """Return the polynomial that equals the value of a symbol; its variable counts steps of the divisor."""
        return variable(name, self.symbols[name].multiple_of)

    def floor(self, inner: Polynomial, divisor: int) -> Polynomial:
        """Return `floor(inner / divisor)` as a polynomial; whole coefficients stay outside the atom, for reuse."""
        whole = {monomial: value // divisor for monomial, value in inner.items() if value // divisor}
        rest = {monomial: value % divisor for monomial, value in inner.items() if value % divisor}
        if constant_value(rest) is not None:
            return whole
        return plus(whole, variable(self._atom_name("floor", rest, divisor)))

    def positive_part(self, inner: Polynomial) -> Polynomial:
        """Return `max(inner, 0)` as a polynomial; `p` and `-p` share an atom: `max(p, 0) = p + max(-p, 0)`."""
        if (value := constant_value(inner)) is not None:
            return constant(max(0, value))
        if next(value for _, value in reversed(hashable_form(inner))) < 0:
            return plus(inner, variable(self._atom_name("positive", scale(inner, -1), 0)))
        return variable(self._atom_name("positive", inner, 0))

    def maximum(self, polynomials: Sequence[Polynomial]) -> Polynomial:
        """Return the maximum of polynomials as one polynomial over symbols and atoms (floors and positive parts)."""
        first, *others = sorted(polynomials, key=hashable_form)
        for each in others:
            first = plus(first, self.positive_part(minus(each, first)))
        return first

    def minimum(self, polynomials: Sequence[Polynomial]) -> Polynomial:
        """Return the minimum of polynomials as one polynomial over symbols and atoms (floors and positive parts)."""
        return scale(self.maximum([scale(each, -1) for each in polynomials]), -1)

    def align(self, polynomial: Polynomial, alignment: int) -> Polynomial:
        """Return the polynomial that equals the given one, rounded up to a multiple of `alignment`."""
        if alignment == 1:
            return polynomial
        return scale(self.floor(plus(polynomial, constant(alignment - 1)), alignment), alignment)

    def _atom_name(self, kind: str, inner: Polynomial, divisor: int) -> str:
        atom = (kind, hashable_form(inner), divisor)
        if atom not in self._names:
            self._names[atom] = name = f"@{len(self.atoms)}"
            self.atoms[name] = Floor(inner, divisor) if kind == "floor" else PositivePart(inner)
        return self._names[atom]

    # These methods compute values of polynomials.

    def value(self, polynomial: Polynomial, values: Values) -> int:
        """Return the exact value of a polynomial at given values of all symbols."""
        return self.values([polynomial], values)[0]

    def values(self, polynomials: Iterable[Polynomial], values: Values) -> list[int]:
        """Return the exact value of each polynomial at given values of all symbols; common parts are computed once."""
        steps = {name: values[name] // symbol.multiple_of for name, symbol in self.symbols.items()}
        return [self._value_in_steps(polynomial, steps) for polynomial in polynomials]

    def _value_in_steps(self, polynomial: Polynomial, known: dict[str, int]) -> int:
        """Return a polynomial's value; `known` has the symbols' values in steps, and receives the atoms' values."""
        total = 0
        for monomial, coefficient in polynomial.items():
            for name in monomial:
                if name not in known:
                    atom = self.atoms[name]
                    inner = self._value_in_steps(atom.inner, known)
                    known[name] = inner // atom.divisor if isinstance(atom, Floor) else max(0, inner)
                coefficient *= known[name]
            total += coefficient
        return total

    def columns(self, points: Sequence[Values]) -> Columns:
        """Return the values of symbols (in steps) and atoms (floors, maxima) at several points, for `values_at`."""
        steps = {
            name: np.array([point[name] // each.multiple_of for point in points], np.int64)
            for name, each in self.symbols.items()
        }
        return self.fill_atoms(steps or {"": np.zeros(len(points), np.int64)})

    def fill_atoms(self, steps: Columns) -> Columns:
        """Add the value of every atom (floor or positive part) to `steps`, which has the symbols' step counts."""
        columns = dict(steps)
        for name, atom in self.atoms.items():
            inner = self.values_at(atom.inner, columns)
            columns[name] = inner // atom.divisor if isinstance(atom, Floor) else np.maximum(inner, 0)
        return columns

    def values_at(self, polynomial: Polynomial, columns: Columns) -> NDArray[np.int64]:
        """Return the values of a polynomial at several points, from the values of its variables in `columns`."""
        total = np.zeros(len(next(iter(columns.values()))), np.int64)
        for monomial, coefficient in polynomial.items():
            term: NDArray[np.int64] = np.full_like(total, coefficient)
            for name in monomial:
                term = term * columns[name]
            total += term
        return total

    def value_bounds(self, polynomial: Polynomial) -> tuple[int, int] | None:
        """Return bounds on a polynomial's values by interval arithmetic, or None if a symbol is unbounded."""
        if not all(self.symbols[name].max is not None for name in self.free_symbols(polynomial)):
            return None
        low = high = 0
        for monomial, coefficient in polynomial.items():
            least = most = coefficient
            for name in monomial:
                a, b = self._value_interval(name)
                ends = (least * a, least * b, most * a, most * b)
                least, most = min(ends), max(ends)
            low, high = low + least, high + most
        return low, high

    def _value_interval(self, name: str) -> tuple[int, int]:
        """Return bounds on the values of a symbol (in steps) or an atom (floor or maximum) of bounded symbols."""
        if name in self.symbols:
            low, high = self.symbols[name].steps
            assert high is not None
            return low, high
        atom = self.atoms[name]
        spread = self.value_bounds(atom.inner)
        assert spread is not None
        low, high = spread
        return (low // atom.divisor, high // atom.divisor) if isinstance(atom, Floor) else (max(0, low), max(0, high))

    def magnitude_bound(self, polynomial: Polynomial) -> int | None:
        """Return a bound on the absolute value of a polynomial and of all its partial sums; None if it is unbounded."""
        if not all(self.symbols[name].max is not None for name in self.free_symbols(polynomial)):
            return None
        total = 0
        for monomial, coefficient in polynomial.items():
            term = abs(coefficient)
            for name in monomial:
                term *= max(map(abs, self._value_interval(name)))
            total += term
        return total

    def free_symbols(self, polynomial: Polynomial) -> set[str]:
        """Return the symbols that occur in a polynomial, also inside its atoms (floors and positive parts)."""
        free_names: set[str] = set()
        for name in variable_names([polynomial]):
            free_names |= {name} if name in self.symbols else self.free_symbols(self.atoms[name].inner)
        return free_names

    # These methods write polynomials as text.

    def text(self, polynomial: Polynomial) -> str:
        """Return a polynomial as text in the input syntax, such as `64*((48*b*n*n + 63)//64) + 4096`."""
        ordered = sorted(polynomial.items(), key=lambda item: (-len(item[0]), item[0]))
        terms = [self._term_text(monomial, value) for monomial, value in ordered]
        return " + ".join(terms).replace("+ -", "- ") or "0"

    def _term_text(self, monomial: tuple[str, ...], value: int) -> str:
        factors = [self._factor_text(name) for name in monomial]
        if monomial and abs(value) == 1:
            return ("-" if value < 0 else "") + "*".join(factors)
        return "*".join([str(value), *factors])

    def _factor_text(self, name: str) -> str:
        if name in self.symbols:
            step = self.symbols[name].multiple_of
            return name if step == 1 else f"({name}//{step})"
        atom = self.atoms[name]
        inner = self.text(atom.inner)
        inner = f"({inner})" if len(atom.inner) > 1 or len(next(iter(atom.inner))) > 1 else inner
        return f"({inner}//{atom.divisor})" if isinstance(atom, Floor) else f"max({inner}, 0)"
