"""Is one polynomial never above another, for all values of the symbols? Exact, and honest: a no means not proved.

The difference gets its atoms replaced by what they are between: `floor(p / d) = (p - r) / d` with `0 <= r <= d - 1`,
one `r` for each atom, so that what both sides share cancels; `max(p, 0)` is 0 or `p`, and both cases are proved. What
is left is a polynomial over the symbols in a box. Its coefficients in Bernstein's basis are never above its values
there, so none below 0 is a proof; above a minimum without a maximum, its coefficients in `symbol - min` are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import comb, lcm

import numpy as np
from numpy.typing import NDArray

from memplan.planner.symbols.polynomials import Key, Monomial, Polynomial, degree, key, minus, names, plus, times
from memplan.planner.symbols.space import Columns, Floor, Positive, Space, Values

Box = Mapping[str, tuple[int, int | None]]
"""The least and the largest step of each symbol; None where nothing bounds it."""
Exact = Mapping[Monomial, Fraction]
_REST = "~"
_MOST_CASES = 8
"""The most `max` atoms that are taken apart in one comparison: 256 cases."""
_PAIRS_TRIED = 6
SAMPLES = 64


@lru_cache(maxsize=4096)
def _to_bernstein(degree: int, low: int, high: int) -> tuple[tuple[int, ...], ...]:
    """Return the matrix from powers of x to Bernstein's basis on [low, high], times a number that makes it whole."""
    width = high - low
    scale = lcm(*(comb(degree, k) for k in range(degree + 1)))

    def entry(i: int, j: int) -> int:
        parts = (
            scale // comb(degree, k) * comb(i, k) * comb(j, k) * low ** (j - k) * width**k for k in range(min(i, j) + 1)
        )
        return sum(parts)

    return tuple(tuple(entry(i, j) for j in range(degree + 1)) for i in range(degree + 1))


def box_of(space: Space) -> dict[str, tuple[int, int | None]]:
    """Return the steps that the symbols of a space may have."""
    return {name: symbol.steps for name, symbol in space.symbols.items()}


@dataclass
class Comparer:
    """Comparisons in one space; what was proved, or not, is remembered. `unbounded` forgets the largest values."""

    space: Space
    unbounded: bool = False
    _expanded: dict[Key, Exact] = field(default_factory=dict)
    _known: dict[Key, bool] = field(default_factory=dict)
    _sampled: dict[Key, NDArray[np.int64]] = field(default_factory=dict)
    _columns: Columns = field(default_factory=dict)
    _atoms: int = -1

    @property
    def box(self) -> Box:
        """The steps for which is compared."""
        box = box_of(self.space)
        return {name: (low, None) for name, (low, _) in box.items()} if self.unbounded else box

    def never_above(self, left: Polynomial, right: Polynomial) -> bool:
        """True where `left <= right` is proved for all values."""
        return self.never_negative(minus(right, left))

    def never_negative(self, polynomial: Polynomial) -> bool:
        """True where a polynomial is proved to be at least 0 for all values."""
        known = key(polynomial)
        if known not in self._known:
            self._known[known] = self._is_plain(polynomial) or all(
                not_negative(each, self.box) for each in self.lower(polynomial)
            )
        return self._known[known]

    def _is_plain(self, polynomial: Polynomial) -> bool:
        """True where no value is negative even if all variables were independent: `n//3` is not, `n//3 - 1` may be."""
        if all(value >= 0 for value in polynomial.values()):
            inner = (self.space.atoms.get(name) for name in sorted(names([polynomial])))
            if all(not isinstance(atom, Floor) or self._is_plain(atom.inner) for atom in inner):
                return True
        spread = None if self.unbounded else self.space.spread(polynomial)
        return spread is not None and spread[0] >= 0

    def lower(self, polynomial: Polynomial) -> list[Exact]:
        """Return polynomials over the symbols alone, one of which is never above the given one at each value.

        So where none of them is negative, it is not. There are several where it has atoms of `max`. Without any, where
        it has too many of these, a polynomial that is negative stands for what cannot be said.
        """
        cases: list[Exact] = [self._expand(polynomial)]
        for _ in range(_MOST_CASES):
            if not (
                atom := next(
                    (name for case in cases for name in sorted(names([case])) if self._is_positive(name)), None
                )
            ):
                return [self._without_rests(case) for case in cases]
            inner = self._expand(self.space.atoms[atom].inner)
            cases = [each for case in cases for each in ((_replaced(case, atom, {}), _replaced(case, atom, inner)))]
        return [{(): Fraction(-1)}]

    def _is_positive(self, name: str) -> bool:
        return isinstance(self.space.atoms.get(name), Positive)

    def _expand(self, polynomial: Polynomial) -> Exact:
        """Replace atoms of floors, those inside each other as well; `~@3` is the rest of atom `@3`, divided."""
        known = key(polynomial)
        if known not in self._expanded:
            total: dict[Monomial, Fraction] = {}
            for monomial, value in polynomial.items():
                term: Exact = {(): Fraction(value)}
                for name in monomial:
                    term = times(term, self._meant(name))
                total = plus(total, term)
            self._expanded[known] = total
        return self._expanded[known]

    def _meant(self, name: str) -> Exact:
        atom = self.space.atoms.get(name)
        if not isinstance(atom, Floor):
            return {(name,): Fraction(1)}
        inner = {monomial: value / atom.divisor for monomial, value in self._expand(atom.inner).items()}
        return plus(inner, {(_REST + name,): Fraction(-1)})

    def _without_rests(self, polynomial: Exact) -> Exact:
        """Return what is never above, without rests: nothing for those that add, the most for those that take away."""
        total: dict[Monomial, Fraction] = {}
        for monomial, value in polynomial.items():
            rests = [name for name in monomial if name.startswith(_REST)]
            if rests and value > 0:
                continue
            for name in rests:
                atom = self.space.atoms[name[len(_REST) :]]
                assert isinstance(atom, Floor)
                value *= Fraction(atom.divisor - 1, atom.divisor)
            total = plus(total, {tuple(name for name in monomial if not name.startswith(_REST)): value})
        return total

    # Several polynomials

    def undominated(self, polynomials: Sequence[Polynomial]) -> list[Polynomial]:
        """Return those that may be the largest somewhere. Values at samples settle most pairs, proofs the rest."""
        different = {key(each): each for each in polynomials}
        if len(different) == 1:
            return list(different.values())
        values = np.array([self.sampled(each) for each in different.values()])
        rank = np.log1p(np.maximum(values, 0)).sum(axis=1)
        keys = list(different)
        order = sorted(range(len(keys)), key=lambda i: (-float(rank[i]), keys[i]))
        kept: list[int] = []
        for i in order:
            above = np.flatnonzero((values[kept] >= values[i]).all(axis=1))[:_PAIRS_TRIED].tolist() if kept else []
            if not any(self.never_above(different[keys[i]], different[keys[kept[j]]]) for j in above):
                kept.append(i)
        return [different[keys[i]] for i in kept]

    def sampled(self, polynomial: Polynomial) -> NDArray[np.int64]:
        """Return the values at samples of all values: corners, and others spread by ratios."""
        if self._atoms != len(self.space.atoms):
            self._columns = self.space.columns(samples(self.space, SAMPLES))
            self._atoms = len(self.space.atoms)
            self._sampled.clear()
        known = key(polynomial)
        if known not in self._sampled:
            self._sampled[known] = self.space.at(polynomial, self._columns)
        return self._sampled[known]


def _replaced(polynomial: Exact, name: str, value: Exact) -> Exact:
    total: dict[Monomial, Fraction] = {}
    for monomial, coefficient in polynomial.items():
        term: Exact = {tuple(each for each in monomial if each != name): coefficient}
        for _ in range(monomial.count(name)):
            term = times(term, value)
        total = plus(total, term)
    return total


def not_negative(polynomial: Exact, box: Box) -> bool:
    """True where a polynomial over symbols, none of which is negative, is proved to be at least 0 in a box."""
    if not polynomial or all(value > 0 for value in polynomial.values()):
        return True
    polynomial = _divided(polynomial, box)
    variables = sorted(names([polynomial]))
    if any(box[name][1] is None for name in variables):
        shifted: Exact = {(): Fraction(1)}
        total: dict[Monomial, Fraction] = {}
        for monomial, value in polynomial.items():
            shifted = {(): value}
            for name in monomial:
                shifted = times(
                    shifted, plus({(name,): Fraction(1)}, {(): Fraction(box[name][0])} if box[name][0] else {})
                )
            total = plus(total, shifted)
        return all(value > 0 for value in total.values())
    return least_coefficient(polynomial, {name: (box[name][0], box[name][1] or 0) for name in variables}) >= 0


def least_coefficient(polynomial: Exact, box: Mapping[str, tuple[int, int]]) -> int:
    """Return the least coefficient in Bernstein's basis on a box, times a number above 0; its sign is exact."""
    variables = sorted(box)
    scale = lcm(*(value.denominator for value in polynomial.values()))
    rows = {
        tuple(monomial.count(name) for name in variables): int(value * scale) for monomial, value in polynomial.items()
    }
    for axis, name in enumerate(variables):
        matrix = _to_bernstein(degree(polynomial, name), *box[name])
        turned: dict[tuple[int, ...], int] = {}
        for powers, value in rows.items():
            for i, row in enumerate(matrix):
                at = (*powers[:axis], i, *powers[axis + 1 :])
                turned[at] = turned.get(at, 0) + value * row[powers[axis]]
        rows = turned
    every = product(*(range(degree(polynomial, name) + 1) for name in variables))
    return min(rows.get(at, 0) for at in every)


def _divided(polynomial: Exact, box: Box) -> Exact:
    """Return the polynomial without the factors that all its terms share, which are above 0."""
    shared: list[str] = []
    first, *others = polynomial
    for name in sorted(set(first)):
        if box[name][0] > 0:
            shared += [name] * min(monomial.count(name) for monomial in (first, *others))
    if not shared:
        return polynomial
    found: dict[Monomial, Fraction] = {}
    for monomial, value in polynomial.items():
        rest = list(monomial)
        for name in shared:
            rest.remove(name)
        found[tuple(rest)] = value
    return found


def samples(space: Space, count: int, seed: int = 0) -> list[Values]:
    """Return values of the symbols: corners and middles of their ranges, and so many others, spread by ratios."""
    ends = {}
    for name, symbol in space.symbols.items():
        low, high = symbol.steps
        ends[name] = (low, high if high is not None else max(low, 1) * 64)
    axes = [sorted({low, high, round((max(low, 1) * high) ** 0.5)}) for low, high in ends.values()]
    corners = list(product(*axes))[: 3**4]
    drawn = np.random.default_rng(seed).uniform(size=(count, len(ends)))
    lows, highs = (np.array([each[i] for each in ends.values()], float) for i in (0, 1))
    least = np.maximum(lows, 1)
    spread = np.clip(np.round(np.exp(np.log(least) + drawn * np.log((highs + 0.49) / least))), lows, highs).astype(
        np.int64
    )
    rows = dict.fromkeys((*corners, *map(tuple, spread.tolist())))
    step = [space.symbols[name].multiple_of for name in ends]
    return [dict(zip(ends, (value * each for value, each in zip(row, step, strict=True)), strict=True)) for row in rows]
