"""The largest values of symbols within a capacity: by offset programs, and by what no plan can pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from memplan.planner.symbols.polynomials import Polynomial, minus, names, plus, times
from memplan.planner.symbols.problem import Sized
from memplan.planner.symbols.space import Space, Values

MOST_SCANNED = 1_000_000
"""The most values that are looked at one by one, where the peak does not grow with a symbol."""
MOST_VALUE = 2**62
Peak = Callable[[Values], int]


def grows(space: Space, polynomial: Polynomial, name: str) -> bool:
    """True where a polynomial is proved never to fall as a symbol grows: nor does it with any variable that holds it.

    Variables are taken to be independent of each other, so that one may be raised after the other.
    """
    for variable in sorted(names([polynomial])):
        atom = space.atoms.get(variable)
        if atom is not None:
            if name not in space.free(atom.inner):
                continue
            if not grows(space, atom.inner, name):
                return False
        elif variable != name:
            continue
        step = minus(_raised(polynomial, variable), polynomial)
        spread = space.spread(step)
        if not (all(value >= 0 for value in step.values()) if spread is None else spread[0] >= 0):
            return False
    return True


def _raised(polynomial: Polynomial, variable: str) -> Polynomial:
    """Return a polynomial at `variable + 1`."""
    total: Polynomial = {}
    for monomial, value in polynomial.items():
        term: Polynomial = {tuple(each for each in monomial if each != variable): value}
        for _ in range(monomial.count(variable)):
            term = times(term, {(variable,): 1, (): 1})
        total = plus(total, term)
    return total


@dataclass
class SymbolLimits:
    """Limits of one problem; `peak` is what must fit at a value of each symbol."""

    sized: Sized
    peak: Peak
    _grows: dict[str, bool] = field(default_factory=dict)

    def largest(self, name: str, at: Values, capacity: int) -> int | None:
        """Return the largest value of a symbol that fits, others as in `at`; None where its least value does not.

        Where the peak may fall as the symbol grows, all smaller values need not fit. Raises ValueError where the symbol
        has no largest value and the peak does not grow with it, or where there are too many values to look at.
        """
        symbol = self.sized.space.symbols[name]
        low, high = symbol.steps

        def fits(step: int) -> bool:
            return self.peak({**at, name: step * symbol.multiple_of}) <= capacity

        if not self.grows(name):
            if high is None or high - low > MOST_SCANNED:
                raise ValueError(f"{name}: must have at most {MOST_SCANNED} values, as sizes may fall while it grows")
            found = next((step for step in range(high, low - 1, -1) if fits(step)), None)
            return None if found is None else found * symbol.multiple_of
        if not fits(low):
            return None
        if high is None:
            high = max(1, low)
            while fits(high):
                if high >= MOST_VALUE:
                    raise ValueError(f"{name}: has no limit, as nothing grows with it")
                high *= 2
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if fits(middle) else (low, middle - 1)
        return low * symbol.multiple_of

    def grows(self, name: str) -> bool:
        """True where no size is known to fall as a symbol grows."""
        if name not in self._grows:
            self._grows[name] = all(grows(self.sized.space, form, name) for form in self.sized.forms)
        return self._grows[name]

    def staircase(self, names: tuple[str, str], at: Values, capacity: int) -> list[Mapping[str, int]]:
        """Return the pairs of values that fit of which neither can grow alone, for two symbols; ValueError as above."""
        first, second = names
        symbol = self.sized.space.symbols[first]
        (step, high), is_smooth = symbol.steps, self.grows(first) and self.grows(second)
        if is_smooth:  # else the largest value need not fit with the least of the other symbol
            most = self.largest(first, {**at, second: _least(self.sized.space, second)}, capacity)
            high = -1 if most is None else most // symbol.multiple_of
        if high is None or high - step > MOST_SCANNED:
            raise ValueError(f"{first}: must have at most {MOST_SCANNED} values, as sizes may fall while it grows")
        found: list[Mapping[str, int]] = []
        while step <= high:
            value = step * symbol.multiple_of
            limit = self.largest(second, {**at, first: value}, capacity)
            # The largest value of the first symbol at that limit: one step of the stairs.
            widest = None if limit is None else self.largest(first, {**at, second: limit}, capacity)
            if limit is not None and widest is not None and (is_smooth or widest == value):
                found.append({first: widest, second: limit})
            step = 1 + (widest // symbol.multiple_of if is_smooth and widest is not None else step)
        return found


def _least(space: Space, name: str) -> int:
    symbol = space.symbols[name]
    return symbol.steps[0] * symbol.multiple_of


def bound_at(sized: Sized, loads: tuple[Polynomial, ...]) -> Peak:
    """Return the function from values to the bound: the largest of the sums of live sets."""
    return lambda values: max(sized.space.values(loads, values))
