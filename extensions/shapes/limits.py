"""The largest values of one or two symbols for which a problem fits within a capacity."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from memplan.extensions.shapes.offset_programs import Evaluator
from memplan.extensions.shapes.search.search import ProvedPrograms
from memplan.planner.errors import Option, OptionError, count_text, excerpt
from memplan.programs.symbols.polynomials import Polynomial, minus, plus, times, variable_names
from memplan.programs.symbols.problem import SymbolicProblem, point_text
from memplan.programs.symbols.sized import CompiledSizes
from memplan.programs.symbols.space import Space, Values
from memplan.questions.question import Answer

MOST_SCANNED = 1_000_000
"""The maximum number of values to try one by one if the peak is not monotone in a symbol."""
MOST_VALUE = 2**62
_STEPS = 40
"""The maximum number of steps of a staircase that are printed."""
Peak = Callable[[Values], int]


class Limit(Answer):
    """How far a symbol may grow within a capacity."""

    symbol: str
    """The name of the symbol."""
    by_plan: int | None
    """The largest value at which this plan fits; null if no value fits."""
    by_any_plan: int | None
    """A value that no plan can exceed; null if no value fits."""


class ShapesLimits(Answer):
    """The values up to which one or two symbols may grow within a capacity."""

    capacity: int
    """The bytes that a plan may take."""
    at: dict[str, int]
    """The values of all other symbols."""
    limits: tuple[Limit, ...]
    """The limit of the symbol, if only one may grow."""
    stairs: tuple[dict[str, int], ...]
    """For two symbols, the pairs of values at which this plan fits and neither value can grow alone."""
    stairs_of_any_plan: tuple[dict[str, int], ...]
    """For two symbols, the pairs of values that no plan can exceed."""

    @property
    def has_fitting_value(self) -> bool:
        """True if the problem fits within the capacity for some value of the symbols."""
        return bool(self.stairs) or any(row.by_plan is not None for row in self.limits)

    def lines(self) -> Iterator[str]:
        """Yield the limits as lines to print."""
        beside = f" at {point_text(self.at)}" if self.at else ""
        yield f"within {self.capacity:,} bytes{beside}:"
        for limit in self.limits:
            if limit.by_plan is None:
                yield f"{limit.symbol}: no value fits"
                continue
            same = "" if limit.by_any_plan == limit.by_plan else f"; no plan can pass {limit.by_any_plan}"
            yield f"{limit.symbol} up to {limit.by_plan}{same or ', which no plan can pass'}"
        for row in self.stairs[:_STEPS]:
            yield f"{point_text(row)}"
        if len(self.stairs) > _STEPS:
            yield f"and {count_text(len(self.stairs) - _STEPS, 'other')}"
        if self.stairs:
            yield "no plan can pass these" if self.stairs == self.stairs_of_any_plan else "other plans may pass these"
        elif not self.limits:
            yield "no value fits"


def check_limits(problem: SymbolicProblem, within: int | None, at: Mapping[str, int]) -> tuple[int, list[str]]:
    """Return the capacity in bytes and the one or two symbols without a value; raises OptionError for other counts."""
    if not problem.symbols:
        raise OptionError.from_rule(
            "limits",
            "applies only to a problem whose sizes contain symbols, got a problem without symbols",
            way="leave it out",
        )
    capacity = within if within is not None else problem.capacity
    if capacity is None:
        raise OptionError.from_rule(
            "within", "is required if the problem has no capacity, such as ", Option("within", "64MiB")
        )
    for name, value in at.items():
        if (symbol := problem.symbols.get(name)) is None:
            raise OptionError(
                f"at: must name a symbol of the problem ({', '.join(problem.symbols)}), got {excerpt(name)}"
            )
        if value < symbol.min or (symbol.max is not None and value > symbol.max):
            upper = "" if symbol.max is None else f" to {symbol.max}"
            raise OptionError(f"at.{name}: must be from {symbol.min}{upper}, got {value}")
        if value % symbol.multiple_of:
            raise OptionError(f"at.{name}: must be a multiple of {symbol.multiple_of}, got {value}")
    free = [name for name in problem.symbols if name not in at]
    if len(free) not in (1, 2):
        rest = f"got none for {', '.join(free)}" if free else "got a value for each"
        raise OptionError(f"at: must have values for all symbols but one or two, {rest}")
    return capacity, free


def limits_of(planned: ProvedPrograms, capacity: int, at: Mapping[str, int], free: list[str]) -> ShapesLimits:
    """Return how far the symbols in `free` may grow within a capacity: a limit for one, a staircase for two symbols.

    Each limit has two values: that of this plan, and one that no plan can exceed. Raises OptionError without a limit.
    """
    sized = planned.sized
    evaluator = Evaluator(sized.problem, planned.programs)
    ways = SymbolLimits(sized, evaluator.peak), SymbolLimits(sized, bound_at(sized, planned.loads))
    rows: tuple[Limit, ...] = ()
    stairs: list[tuple[dict[str, int], ...]] = [(), ()]
    try:
        if len(free) == 1:
            by_plan, by_any_plan = (way.max_fitting(free[0], at, capacity) for way in ways)
            rows = (Limit(symbol=free[0], by_plan=by_plan, by_any_plan=by_any_plan),)
        else:
            stairs = [tuple(map(dict, way.staircase((free[0], free[1]), at, capacity))) for way in ways]
    except ValueError as error:
        raise OptionError(str(error)) from None
    return ShapesLimits(capacity=capacity, at=dict(at), limits=rows, stairs=stairs[0], stairs_of_any_plan=stairs[1])


def bound_at(sized: CompiledSizes, loads: tuple[Polynomial, ...]) -> Peak:
    """Return a function from symbol values to the lower bound in bytes: the maximum of the live-set sums `loads`."""
    return lambda values: max(sized.space.values(loads, values))


def is_monotone(space: Space, polynomial: Polynomial, name: str) -> bool:
    """Return True if it is proved that a polynomial never falls while the symbol `name` grows.

    The proof changes one variable at a time (the symbol, or a floor or maximum that contains it), as if they were
    independent.
    """
    for variable in sorted(variable_names([polynomial])):
        atom = space.atoms.get(variable)
        if atom is None and variable != name:
            continue
        if atom is not None and name not in space.free_symbols(atom.inner):
            continue
        if atom is not None and not is_monotone(space, atom.inner, name):
            return False
        step = minus(_shift_variable(polynomial, variable), polynomial)
        spread = space.value_bounds(step)
        if not (all(value >= 0 for value in step.values()) if spread is None else spread[0] >= 0):
            return False
    return True


def _shift_variable(polynomial: Polynomial, variable: str) -> Polynomial:
    total: Polynomial = {}
    for monomial, value in polynomial.items():
        term: Polynomial = {tuple(each for each in monomial if each != variable): value}
        for _ in range(monomial.count(variable)):
            term = times(term, {(variable,): 1, (): 1})
        total = plus(total, term)
    return total


@dataclass
class SymbolLimits:
    """The limits of symbols in one problem; the function `peak` returns the bytes needed at given symbol values."""

    sized: CompiledSizes
    peak: Peak
    _grows: dict[str, bool] = field(default_factory=dict)

    def max_fitting(self, name: str, at: Values, capacity: int) -> int | None:
        """Return the largest value of symbol `name` whose peak is within the capacity; None if no value fits.

        The others have values in `at`. If the peak may fall while the symbol grows, smaller values need not fit. Raises
        ValueError if the symbol has no maximum and the peak does not grow with it, or if there are too many values to
        try.
        """
        symbol = self.sized.space.symbols[name]
        low, high = symbol.steps

        def fits(step: int) -> bool:
            return self.peak({**at, name: step * symbol.multiple_of}) <= capacity

        if not self.is_monotone(name):
            if high is None or high - low > MOST_SCANNED:
                raise ValueError(f"{name}: must have at most {MOST_SCANNED} values if sizes may fall while it grows")
            highest = next((step for step in range(high, low - 1, -1) if fits(step)), None)
            return None if highest is None else highest * symbol.multiple_of
        if not fits(low):
            return None
        if high is None:
            high = max(1, low)
            while fits(high):
                if high >= MOST_VALUE:
                    raise ValueError(f"{name}: has no limit, as no size grows with it")
                high *= 2
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if fits(middle) else (low, middle - 1)
        return low * symbol.multiple_of

    def is_monotone(self, name: str) -> bool:
        """Return True if it is proved that no size falls while a symbol grows."""
        if name not in self._grows:
            self._grows[name] = all(is_monotone(self.sized.space, form, name) for form in self.sized.forms)
        return self._grows[name]

    def staircase(self, names: tuple[str, str], at: Values, capacity: int) -> list[Mapping[str, int]]:
        """Return the largest fitting pairs of values of two symbols; raises ValueError for too many values to try."""
        first, second = names
        symbol, other = (self.sized.space.symbols[name] for name in names)
        (step, high), is_smooth = symbol.steps, self.is_monotone(first) and self.is_monotone(second)
        if is_smooth:  # Sizes never fall, so the first symbol is largest at the second one's minimum.
            most = self.max_fitting(first, {**at, second: other.steps[0] * other.multiple_of}, capacity)
            high = -1 if most is None else most // symbol.multiple_of
        if high is None or high - step > MOST_SCANNED:
            raise ValueError(f"{first}: must have at most {MOST_SCANNED} values if sizes may fall while it grows")
        corners: list[Mapping[str, int]] = []
        while step <= high:
            value = step * symbol.multiple_of
            limit = self.max_fitting(second, {**at, first: value}, capacity)
            # At a corner, neither symbol can grow, so also maximise the first symbol at the second symbol's limit.
            widest = None if limit is None else self.max_fitting(first, {**at, second: limit}, capacity)
            if limit is not None and widest is not None and (is_smooth or widest == value):
                corners.append({first: widest, second: limit})
            step = 1 + (widest // symbol.multiple_of if is_smooth and widest is not None else step)
        return corners
