"""Exact proofs that one polynomial never exceeds another one, for any symbol values. False means: not proved.

In the difference, each atom (a floor or a maximum) is replaced by its range. A floor becomes `floor(p / d) = (p - r) /
d` with `0 <= r <= d - 1`; each atom has one remainder `r` (a *rest*), so common parts of both sides cancel. As `max(p,
0)` is 0 or `p`, both cases are proved. The result is a polynomial over the symbols in a box. Its minimum coefficient in
Bernstein's basis is a lower bound on its values there, so the claim is proved if no coefficient is negative. For
unbounded symbols, the coefficients in `symbol - min` are used.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import chain, combinations, product
from math import isqrt, lcm, prod

import numpy as np

from memplan.programs.symbols.polynomials import (
    Key,
    Monomial,
    Polynomial,
    degree,
    hashable_form,
    minus,
    plus,
    times,
    variable_names,
)
from memplan.programs.symbols.space import Columns, Floor, PositivePart, Space, Values
from memplan.programs.symbols.tables import Frame, PolynomialTable, bernstein_matrix, sign_masks

Box = Mapping[str, tuple[int, int | None]]
"""The type of the first and last step of each symbol (its value / its divisor); the last is None if unbounded."""
Exact = Mapping[Monomial, Fraction]
Case = frozenset[str]
"""The type of a case: the atoms `max(p, 0)` that equal `p` in it, while all other such atoms are 0."""
_REST = "~"
_MOST_MAXIMA = 8
"""The maximum number of atoms `max(p, 0)` for which one comparison considers all cases (at most 256)."""
_MOST_MIXED = 4
"""The maximum number of rests (remainders of floors) for which one comparison tries both ends (16 combinations)."""
_PAIRS_TRIED = 6
LEAF, _MOST_BOXES = 1024, 2048
"""The maximum number of values in a box that are enumerated, and of boxes that are examined for one polynomial."""
SAMPLES = 64


def box_ends(box: Box) -> tuple[tuple[int, int], ...] | None:
    """Return the ends of a box's ranges, in the order of its symbols; None if a symbol is unbounded."""
    ends = tuple((low, high) for low, high in box.values() if high is not None)
    return ends if len(ends) == len(box) else None


@dataclass
class Comparer:
    """The comparison of polynomials over the symbols and atoms (floors, maxima) of one space; results are cached."""

    space: Space
    _expanded: dict[tuple[Monomial, Case], Exact] = field(default_factory=dict)
    _known: dict[Key, bool] = field(default_factory=dict)
    _frames: dict[tuple[Monomial, ...], Frame] = field(default_factory=dict)
    _columns: Columns = field(default_factory=dict)
    _atoms: int = -1

    @property
    def box(self) -> Box:
        """The range of each symbol in steps of its divisor, within which comparisons hold."""
        return {name: symbol.steps for name, symbol in self.space.symbols.items()}

    def is_never_above(self, left: Polynomial, right: Polynomial) -> bool:
        """Return True if `left <= right` is proved for all values of the symbols."""
        return self.is_never_negative(minus(right, left))

    def is_never_negative(self, polynomial: Polynomial) -> bool:
        """Return True if a polynomial is proved to be at least 0 for all values of the symbols."""
        form = hashable_form(polynomial)
        if form not in self._known:
            self._known[form] = self._is_trivially_non_negative(polynomial) or all(
                is_non_negative(each, self.box) for each in self.lower_polynomials(polynomial)
            )
        return self._known[form]

    def negative_point(self, polynomial: Polynomial) -> Values | bool:
        """Return symbol values at which a polynomial is negative; False if none exist, True if this is unknown.

        If no single comparison decides, the ranges are halved, and small boxes are enumerated.
        """
        if self.is_never_negative(polynomial):
            return False
        space, most = self.space, self.space.magnitude_bound(polynomial)
        names_ = sorted(space.free_symbols(polynomial))
        whole = box_ends({name: self.box[name] for name in names_})
        if whole is None or most is None or most >= 2**62:
            return True
        others = {name: low for name, (low, _) in self.box.items()}
        work, cases = [whole], self.lower_polynomials(polynomial)
        for _ in range(_MOST_BOXES):
            if not work:
                return False
            box = work.pop()
            if all(is_non_negative(case, dict(zip(names_, box, strict=True))) for case in cases):
                continue
            if prod(high - low + 1 for low, high in box) > LEAF:
                work += box_halves(box)
                continue
            rows = np.array([*product(*(range(low, high + 1) for low, high in box))], np.int64).T
            steps = {name: np.full(rows.shape[1], low) for name, low in others.items()}
            values = space.values_at(polynomial, space.fill_atoms(steps | dict(zip(names_, rows, strict=True))))
            if values[at := int(values.argmin())] < 0:
                corner = {**others, **dict(zip(names_, rows[:, at].tolist(), strict=True))}
                return {name: step * space.symbols[name].multiple_of for name, step in corner.items()}
        return True

    def _is_trivially_non_negative(self, polynomial: Polynomial) -> bool:
        if all(value >= 0 for value in polynomial.values()):
            inner = (self.space.atoms.get(name) for name in sorted(variable_names([polynomial])))
            if all(not isinstance(atom, Floor) or self._is_trivially_non_negative(atom.inner) for atom in inner):
                return True
        spread = self.space.value_bounds(polynomial)
        return spread is not None and spread[0] >= 0

    def lower_polynomials(self, polynomial: Polynomial) -> list[Exact]:
        """Return polynomials over symbols alone: at each symbol value, one of them is at most `polynomial`.

        So if none of them is negative, neither is `polynomial`. Several are needed if it has `max` atoms. With too many
        such atoms, a negative constant is returned, which proves nothing.
        """
        bounds: list[Exact] = []
        for case in self._cases_of_maxima([polynomial]):
            corners = [self._replace_atoms(polynomial, case)]
            for rest in self._mixed_remainders(corners[0]):
                corners = [self._end_polynomial(corner, rest, end) for corner in corners for end in (0, 1)]
            bounds += map(self._lower_without_remainders, corners)
        return bounds or [{(): Fraction(-1)}]

    def _mixed_remainders(self, polynomial: Exact) -> list[str]:
        signs: dict[str, set[bool]] = {}
        for monomial, value in polynomial.items():
            for name in monomial:
                if name.startswith(_REST):
                    signs.setdefault(name, set()).add(value > 0)
        mixed = sorted(name for name, both in signs.items() if len(both) == 2 and degree(polynomial, name) == 1)
        return mixed[:_MOST_MIXED]

    def _end_polynomial(self, polynomial: Exact, rest: str, end: int) -> Exact:
        """Return a polynomial after setting the remainder `rest` to 0 (end 0) or to its maximum (end 1)."""
        most = self._max_remainder(rest)
        assert most is not None
        total: Exact = {}
        for monomial, value in polynomial.items():
            if rest not in monomial:
                total = plus(total, {monomial: value})
            elif end:
                total = plus(total, {tuple(name for name in monomial if name != rest): value * most})
        return total

    def _cases_of_maxima(self, polynomials: Sequence[Polynomial]) -> list[Case]:
        """Return all sets of `max(p, 0)` atoms that equal `p` while all others are 0; empty if there are too many."""
        symbols: set[str] = set()
        work = variable_names(polynomials)
        while work:
            name = work.pop()
            if (atom := self.space.atoms.get(name)) is not None and name not in symbols:
                symbols.add(name)
                work |= variable_names([atom.inner])
        maxima = sorted(name for name in symbols if isinstance(self.space.atoms[name], PositivePart))
        if len(maxima) > _MOST_MAXIMA:
            return []
        rows = chain.from_iterable(combinations(maxima, count) for count in range(len(maxima) + 1))
        return [frozenset(row) for row in rows]

    def table(self, polynomials: Sequence[Polynomial]) -> PolynomialTable | None:
        """Return a table with one row per polynomial, to compare many at once; None for too many `max(p, 0)` atoms."""
        monomials = tuple(sorted({monomial for polynomial in polynomials for monomial in polynomial}))
        if monomials not in self._frames:
            cases = [
                partial(self._replace_atoms, case=case) for case in self._cases_of_maxima([dict.fromkeys(monomials, 1)])
            ]
            self._frames[monomials] = Frame(monomials, list(self.space.symbols), self._max_remainder, cases)
        frame = self._frames[monomials]
        return PolynomialTable(polynomials, frame) if len(frame.matrix) else None

    def _replace_atoms(self, polynomial: Polynomial, case: Case) -> Exact:
        """Return a polynomial over symbols and remainders: all atoms, also nested ones, are replaced by definitions.

        The variable `~@3` is the remainder of atom @3's division, divided by the divisor.
        """
        total: Exact = {}
        for monomial, value in polynomial.items():
            if (monomial, case) not in self._expanded:
                term: Exact = {(): Fraction(1)}
                for name in monomial:
                    term = times(term, self._case_value(name, case))
                self._expanded[monomial, case] = term
            total = plus(total, self._expanded[monomial, case], value)
        return total

    def _case_value(self, name: str, case: Case) -> Exact:
        match self.space.atoms.get(name):
            case None:
                return {(name,): Fraction(1)}
            case PositivePart(inner):
                return self._replace_atoms(inner, case) if name in case else {}
            case Floor(inner, divisor):
                parts = self._replace_atoms(inner, case).items()
                return plus({monomial: value / divisor for monomial, value in parts}, {(_REST + name,): Fraction(-1)})

    def _max_remainder(self, name: str) -> Fraction | None:
        """Return the maximum of a variable such as `~@3`, a remainder divided by its divisor; None for a symbol."""
        if not name.startswith(_REST):
            return None
        atom = self.space.atoms[name[len(_REST) :]]
        assert isinstance(atom, Floor)
        return Fraction(atom.divisor - 1, atom.divisor)

    def _lower_without_remainders(self, polynomial: Exact) -> Exact:
        """Return a polynomial without remainders that is never larger than the given one.

        A remainder becomes 0 in a positive term, and its maximum in a negative term.
        """
        total: dict[Monomial, Fraction] = {}
        for monomial, value in polynomial.items():
            rests = [rest for name in monomial if (rest := self._max_remainder(name)) is not None]
            if rests and value > 0:
                continue
            value *= prod(rests, start=Fraction(1))
            total = plus(total, {tuple(name for name in monomial if not name.startswith(_REST)): value})
        return total

    # These methods compare more than two polynomials.

    def drop_dominated(self, polynomials: Sequence[Polynomial]) -> list[Polynomial]:
        """Return the polynomials that may be the largest at some value; samples decide most pairs, then proofs."""
        different = {hashable_form(each): each for each in polynomials}
        rows = [different[each] for each in sorted(different)]
        table = self.table(rows) if len(rows) > 1 else None
        if table is None:
            return rows
        if self._atoms != len(self.space.atoms):
            self._columns = self.space.columns(samples(self.space, SAMPLES))
            self._atoms = len(self.space.atoms)
        values = table.values(self._columns)
        rank = np.log1p(np.maximum(values, 0)).sum(axis=1)
        order = np.argsort(-rank, kind="stable")
        pairs = [
            (above, below)
            for at, below in enumerate(order.tolist())
            for above in order[:at][(values[order[:at]] >= values[below]).all(axis=1)][:_PAIRS_TRIED].tolist()
        ]
        under = {below for above, below in self._dominated_pairs(rows, table, pairs)}
        return [rows[each] for each in order.tolist() if each not in under]

    def _dominated_pairs(
        self, rows: Sequence[Polynomial], table: PolynomialTable, pairs: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[int, int]]:
        """Yield the pairs (above, below) in which the second polynomial is proved never to exceed the first."""
        box = box_ends(self.box)
        is_sure, is_open = np.zeros(len(pairs), bool), np.ones(len(pairs), bool)
        if box is not None and pairs:
            above, below = np.array(pairs).T
            error = table.error(box)
            is_sure, is_open = sign_masks(
                table.difference_coefficients(above, below), table.bernstein_matrix(box), error[above] + error[below]
            )
        for i, (left, right) in enumerate(pairs):
            if is_sure[i] or (is_open[i] and self.is_never_above(rows[right], rows[left])):
                yield left, right


def box_halves(box: Sequence[tuple[int, int]]) -> list[tuple[tuple[int, int], ...]]:
    """Return two halves of a box, cut in the range with the largest ratio of ends.

    A wide range is cut near the geometric mean of its ends, another range in the middle.
    """
    at = max(range(len(box)), key=lambda i: (box[i][0] < box[i][1], (box[i][1] + 1) / (box[i][0] + 1)))
    low, high = box[at]
    middle = isqrt(max(low, 1) * high) if low * 4 < high else (low + high) // 2
    middle = min(high - 1, max(low, middle))
    return [(*box[:at], half, *box[at + 1 :]) for half in ((low, middle), (middle + 1, high))]


def is_non_negative(polynomial: Exact, box: Box) -> bool:
    """Return True if a polynomial is proved to be at least 0 in a box of non-negative symbol values."""
    if not polynomial or all(value > 0 for value in polynomial.values()):
        return True
    polynomial = _divide_factors(polynomial, box)
    variables = sorted(variable_names([polynomial]))
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
    return min_coefficient(polynomial, {name: (box[name][0], box[name][1] or 0) for name in variables}) >= 0


def min_coefficient(polynomial: Exact, box: Mapping[str, tuple[int, int]]) -> int:
    """Return the minimum Bernstein coefficient of a polynomial on a box times a positive number; its sign is exact."""
    variables = sorted(box)
    scale = lcm(*(value.denominator for value in polynomial.values()))
    rows = {
        tuple(monomial.count(name) for name in variables): int(value * scale) for monomial, value in polynomial.items()
    }
    for axis, name in enumerate(variables):
        _, matrix = bernstein_matrix(degree(polynomial, name), *box[name])
        turned: dict[tuple[int, ...], int] = {}
        for powers, value in rows.items():
            for i, row in enumerate(matrix):
                at = (*powers[:axis], i, *powers[axis + 1 :])
                turned[at] = turned.get(at, 0) + value * row[powers[axis]]
        rows = turned
    every = product(*(range(degree(polynomial, name) + 1) for name in variables))
    return min(rows.get(at, 0) for at in every)


def _divide_factors(polynomial: Exact, box: Box) -> Exact:
    """Return a polynomial divided by those positive symbols that all its terms have in common."""
    shared: list[str] = []
    first, *others = polynomial
    for name in sorted(set(first)):
        if box[name][0] > 0:
            shared += [name] * min(monomial.count(name) for monomial in (first, *others))
    if not shared:
        return polynomial
    quotient: dict[Monomial, Fraction] = {}
    for monomial, value in polynomial.items():
        rest = list(monomial)
        for name in shared:
            rest.remove(name)
        quotient[tuple(rest)] = value
    return quotient


SHOWN, SAMPLED = 64, 1024
"""The factors on an unbounded symbol's minimum up to which the symbol is shown (SHOWN) and sampled (SAMPLED).

At these values, squares of a length exceed constants. With more than three unbounded symbols, the samples end lower, so
that products of the symbols are still valid sizes.
"""


def step_ranges(space: Space, reach: int = SHOWN) -> dict[str, tuple[int, int]]:
    """Return the range of each symbol in steps of its divisor; without a maximum, up to `reach` times the start."""
    steps = {name: symbol.steps for name, symbol in space.symbols.items()}
    return {name: (low, high if high is not None else max(low, 1) * reach) for name, (low, high) in steps.items()}


def samples(space: Space, count: int, seed: int = 0) -> list[Values]:
    """Return sampled symbol values: corners and midpoints of the ranges, and `count` random ones, log-uniform."""
    free = sum(symbol.steps[1] is None for symbol in space.symbols.values())
    steps = step_ranges(space, min(SAMPLED, max(SHOWN, int(2 ** (30 / max(free, 1))))))
    axes = [sorted({low, high, round((max(low, 1) * high) ** 0.5)}) for low, high in steps.values()]
    corners = list(product(*axes))[: 3**4]
    drawn = np.random.default_rng(seed).uniform(size=(count, len(steps)))
    lows, highs = (np.array([each[i] for each in steps.values()], float) for i in (0, 1))
    least = np.maximum(lows, 1)
    spread = np.clip(np.round(np.exp(np.log(least) + drawn * np.log((highs + 0.49) / least))), lows, highs).astype(
        np.int64
    )
    rows = dict.fromkeys((*corners, *map(tuple, spread.tolist())))
    by = [space.symbols[name].multiple_of for name in steps]
    return [dict(zip(steps, (value * each for value, each in zip(row, by, strict=True)), strict=True)) for row in rows]
