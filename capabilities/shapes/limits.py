"""How far the symbols of a problem's sizes may grow within a capacity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from memplan.capabilities.capability import Answer
from memplan.capabilities.shapes.for_all_values import Planned
from memplan.capabilities.shapes.offset_programs import Evaluator, value_rule
from memplan.capabilities.shapes.search.limits import SymbolLimits, bound_at
from memplan.planner.errors import OptionError, shown
from memplan.planner.symbols.problem import SymbolicProblem, where

_STEPS = 40
"""The most steps of the stairs in the lines for people."""


class Limit(Answer):
    """The largest value of a symbol that fits, by the plan of `shapes`, and that no plan can pass; null: none fits."""

    symbol: str
    by_plan: int | None
    by_any_plan: int | None


class ShapesLimits(Answer):
    """The values to which symbols may grow: `limits` of the symbol that has no value in `at`, where there is only one.

    Where there are two, `stairs` are the pairs of values that fit of which neither can grow alone, by the plan, and
    `stairs_of_any_plan` those that no plan can pass.
    """

    capacity: int
    at: dict[str, int]
    limits: tuple[Limit, ...]
    stairs: tuple[dict[str, int], ...]
    stairs_of_any_plan: tuple[dict[str, int], ...]

    @property
    def some_value_fits(self) -> bool:
        """True where some value of the symbols is within the capacity."""
        return bool(self.stairs) or any(row.by_plan is not None for row in self.limits)

    def lines(self) -> Iterator[str]:
        """Yield the limits for people."""
        beside = f" at {where(self.at)}" if self.at else ""
        yield f"within {self.capacity:,} bytes{beside}:"
        for limit in self.limits:
            if limit.by_plan is None:
                yield f"{limit.symbol}: no value fits"
                continue
            same = "" if limit.by_any_plan == limit.by_plan else f"; no plan can pass {limit.by_any_plan}"
            yield f"{limit.symbol} up to {limit.by_plan}{same or ', which no plan can pass'}"
        for row in self.stairs[:_STEPS]:
            yield f"{where(row)}"
        if len(self.stairs) > _STEPS:
            yield f"and {len(self.stairs) - _STEPS} others"
        if self.stairs:
            yield "no plan can pass these" if self.stairs == self.stairs_of_any_plan else "other plans may pass these"
        elif not self.limits:
            yield "no value fits"


@dataclass(frozen=True)
class LimitsQuestion:
    """A capacity in bytes, the values of some symbols, and the one or two symbols that have none."""

    capacity: int
    at: Mapping[str, int]
    free: tuple[str, ...]


def limits_of(found: Planned, evaluator: Evaluator, question: LimitsQuestion) -> ShapesLimits:
    """Return how far symbols may grow before a capacity is passed: one symbol's limit, or the stairs of two.

    A limit is that of the plan; beside it stands what no plan can pass. Raises OptionError.
    """
    free, at, capacity = question.free, question.at, question.capacity
    by_plan = SymbolLimits(found.sized, evaluator.peak)
    by_any = SymbolLimits(found.sized, bound_at(found.sized, found.result.loads))
    rows: list[Limit] = []
    stairs: list[tuple[dict[str, int], ...]] = [(), ()]
    try:
        if len(free) == 1:
            ways = [each.largest(free[0], at, capacity) for each in (by_plan, by_any)]
            rows.append(Limit(symbol=free[0], by_plan=ways[0], by_any_plan=ways[1]))
        else:
            pair = (free[0], free[1])
            stairs = [tuple(dict(row) for row in each.staircase(pair, at, capacity)) for each in (by_plan, by_any)]
    except ValueError as error:
        raise OptionError(str(error)) from None
    return ShapesLimits(
        capacity=capacity, at=dict(at), limits=tuple(rows), stairs=stairs[0], stairs_of_any_plan=stairs[1]
    )


def limits_question(problem: SymbolicProblem, within: int | None, at: Mapping[str, int]) -> LimitsQuestion:
    """Return the capacity, and the symbols without a value; raises OptionError."""
    capacity = within if within is not None else problem.capacity
    if capacity is None:
        raise OptionError("within: is required where the problem has no capacity")
    for name, value in at.items():
        if (symbol := problem.symbols.get(name)) is None:
            raise OptionError(
                f"at: must name a symbol of the problem ({', '.join(problem.symbols)}), got {shown(name)}"
            )
        if (rule := value_rule(value, symbol.min, symbol.max, symbol.multiple_of)) is not None:
            raise OptionError(f"at.{name}: {rule}, got {value}")
    free = [name for name in problem.symbols if name not in at]
    if len(free) not in (1, 2):
        rest = f"got none for {', '.join(free)}" if free else "got a value for each"
        raise OptionError(f"at: must have values of all symbols but one or two, {rest}")
    return LimitsQuestion(capacity, at, tuple(free))
