"""Tables of polynomials, by which many polynomials are compared at once in doubles with an error margin.

A row has the coefficients of a polynomial over symbols and atoms. One matrix replaces atoms by symbols and remainders
(see `comparing`), and another converts to Bernstein's basis on a box. Exact fractions decide signs within the error of
doubles.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import comb, lcm, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memplan.programs.symbols.polynomials import Monomial, Polynomial
from memplan.programs.symbols.space import Columns

Doubles = NDArray[np.float64]
Box = Sequence[tuple[int, int]]
"""The type of the first and last step of each symbol, in the order of the symbols."""
ERROR = 1e-11
"""The error margin relative to the sum of all absolute terms; sums of hundreds of products have errors below 1e-13."""


@lru_cache(maxsize=4096)
def bernstein_matrix(degree: int, low: int, high: int) -> tuple[int, tuple[tuple[int, ...], ...]]:
    """Return an integer factor, and this factor times the matrix from powers of x to Bernstein's basis on the range."""
    width = high - low
    scale = lcm(*(comb(degree, k) for k in range(degree + 1)))

    def entry(i: int, j: int) -> int:
        parts = (
            scale // comb(degree, k) * comb(i, k) * comb(j, k) * low ** (j - k) * width**k for k in range(min(i, j) + 1)
        )
        return sum(parts)

    return scale, tuple(tuple(entry(i, j) for j in range(degree + 1)) for i in range(degree + 1))


@lru_cache(maxsize=4096)
def _bernstein_matrix_doubles(degree: int, low: int, high: int) -> Doubles:
    scale, matrix = bernstein_matrix(degree, low, high)
    return np.array([[value / scale for value in row] for row in matrix]).T


def sign_masks(room: Doubles, turned: Doubles, error: Doubles) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return two masks over polynomials: which are surely non-negative in a box, and which doubles cannot decide.

    The product of `room` and `turned` has the Bernstein coefficients, and `error` is their error margin.
    """
    least = (room @ turned).min(axis=-1, initial=np.inf).min(axis=0)
    return least >= error, np.abs(least) < error


class Frame:
    """The columns of a table: its monomials, expanded over symbols and remainders for each case of `max` atoms.

    A case states which `max` atoms are positive; each function in `cases` expands a polynomial for one case, and a
    polynomial is non-negative if it is in all cases. `rests` returns the maximum of a remainder.
    """

    def __init__(
        self,
        monomials: Sequence[Monomial],
        symbols: Sequence[str],
        rests: Callable[[str], Fraction | None],
        cases: Sequence[Callable[[Polynomial], Mapping[Monomial, Fraction]]],
    ) -> None:
        """Expand all monomials in all cases, and store the results as matrices of doubles."""
        self.monomials = monomials
        turned = [[case({monomial: 1}) for monomial in monomials] for case in cases]
        every = sorted({monomial for rows in turned for row in rows for monomial in row})
        matrix = np.array([[[float(row.get(each, 0)) for each in every] for row in rows] for rows in turned])
        self.matrix = matrix.reshape(len(cases), len(monomials), len(every))
        held = [[rest for name in each if (rest := rests(name)) is not None] for each in every]
        self.most_rest = np.array([float(prod(each, start=Fraction(1))) for each in held])
        self.is_plain = np.array([not each for each in held], bool)
        counted = [tuple(each.count(name) for name in symbols) for each in every]
        self.powers = sorted(set(counted))
        onto = np.array([[float(each == power) for power in self.powers] for each in counted])
        self.onto = onto.reshape(len(every), len(self.powers))


class PolynomialTable:
    """A table of polynomials: a row for each polynomial, and a column for each monomial of a frame."""

    def __init__(self, polynomials: Sequence[Polynomial], frame: Frame) -> None:
        """Fill the table with the coefficients of polynomials, over a frame that has all their monomials."""
        self.frame, self.powers = frame, frame.powers
        at = {monomial: i for i, monomial in enumerate(frame.monomials)}
        self.whole = np.zeros((len(polynomials), len(at)), np.int64)
        for row, polynomial in zip(self.whole, polynomials, strict=True):
            for monomial, value in polynomial.items():
                row[at[monomial]] = value
        self._rows: Doubles = self.whole @ frame.matrix
        sizes = (np.abs(self.whole) @ np.abs(frame.matrix)).max(axis=0)
        self._sizes: Doubles = (sizes * frame.most_rest) @ frame.onto

    def difference_coefficients(self, above: Any, below: Any, factor: float = 1.0) -> Doubles:
        """Return lower bounds on `factor * above - below`: coefficients by case, pair of rows, and power of symbols."""
        rows, frame = factor * self._rows[:, above] - self._rows[:, below], self.frame
        return np.asarray(np.where(frame.is_plain, rows, np.minimum(rows, 0) * frame.most_rest) @ frame.onto)

    def error(self, box: Box) -> Doubles:
        """Return, for each polynomial, the error margin of its values in a box when computed in doubles."""
        top = [prod(float(high) ** power for power, (_, high) in zip(each, box, strict=True)) for each in self.powers]
        return np.asarray(ERROR * (self._sizes @ np.array(top)))

    def bernstein_matrix(self, box: Box) -> Doubles:
        """Return the matrix that converts from powers of symbols to Bernstein's basis on a box."""
        values = np.ones((len(self.powers), 1))
        for axis, (low, high) in enumerate(box):
            exponents = [power[axis] for power in self.powers]
            turned = _bernstein_matrix_doubles(max(exponents, default=0), low, high)[exponents]
            values = (values[:, :, None] * turned[:, None, :]).reshape(len(values), -1)
        return values

    def values(self, columns: Columns, rows: Any = slice(None)) -> NDArray[np.int64]:
        """Return the values of polynomials at points, with a row for each polynomial and a column for each point."""
        count = len(next(iter(columns.values())))
        terms = np.ones((len(self.frame.monomials), count), np.int64)
        for term, monomial in zip(terms, self.frame.monomials, strict=True):
            for name in monomial:
                term *= columns[name]
        return np.asarray(self.whole[rows] @ terms)
