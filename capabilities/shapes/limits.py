"""The capability `limits`: how far the symbols of a problem's sizes may grow within a capacity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from memplan.capabilities.capability import Answer, Capability, Control
from memplan.capabilities.question import Question
from memplan.capabilities.shapes.for_all_values import planned
from memplan.capabilities.shapes.offset_programs import Evaluator, value_rule
from memplan.capabilities.shapes.search.limits import SymbolLimits, bound_at
from memplan.capabilities.shapes.symbolic_input import EXAMPLE, SYMBOLIC, GivenValues, SymbolicOptions, read_sizes
from memplan.planner.errors import OptionError, shown
from memplan.planner.model.rows import MAX_BYTES
from memplan.planner.symbols.problem import SymbolicProblem, where

_STEPS = 40
"""The most steps of the stairs in the lines for people."""


class LimitsOptions(SymbolicOptions):
    """Options of limits."""

    within: Annotated[int, Field(ge=0, le=MAX_BYTES)] | None = Field(
        None, description="The bytes that there are; by default the capacity of the problem."
    )
    at: GivenValues = Field({}, description="The values of the other symbols: b=8.")
    most: Annotated[int, Field(ge=1, le=16)] = Field(
        4, description="The most programs, of which the least peak counts."
    )


class Limit(Answer):
    """The largest value of a symbol that fits, by the plan of `shapes`, and that no plan can pass; null: none fits."""

    symbol: str
    by_plan: int | None
    by_any_plan: int | None


class LimitsAnswer(Answer):
    """The values to which symbols may grow: `limits` of the symbol that has no value in `at`, where there is only one.

    Where there are two, `stairs` are the pairs of values that fit of which neither can grow alone, by the plan, and
    `stairs_of_any_plan` those that no plan can pass.
    """

    capacity: int
    at: dict[str, int]
    limits: tuple[Limit, ...]
    stairs: tuple[dict[str, int], ...]
    stairs_of_any_plan: tuple[dict[str, int], ...]


def limits(
    problem: SymbolicProblem | bytes, options: LimitsOptions = LimitsOptions(), control: Control = Control()
) -> LimitsAnswer:
    """Find how far symbols may grow before a capacity is passed: one symbol's limit, or the stairs of two.

    All other symbols have a value. A limit is that of the plan of `shapes`; beside it stands what no plan can pass.
    """
    running = control.begun(options)
    problem = read_sizes(problem, options)
    capacity, free = _asked(problem, options)
    found = planned(problem, options.most, running)
    evaluator = Evaluator(problem, found.programs)
    by_plan = SymbolLimits(found.sized, evaluator.peak)
    by_any = SymbolLimits(found.sized, bound_at(found.sized, found.result.loads))
    rows: list[Limit] = []
    stairs: list[tuple[dict[str, int], ...]] = [(), ()]
    try:
        if len(free) == 1:
            ways = [each.largest(free[0], options.at, capacity) for each in (by_plan, by_any)]
            rows.append(Limit(symbol=free[0], by_plan=ways[0], by_any_plan=ways[1]))
        else:
            pair = (free[0], free[1])
            stairs = [
                tuple(dict(row) for row in each.staircase(pair, options.at, capacity)) for each in (by_plan, by_any)
            ]
    except ValueError as error:
        raise OptionError(str(error)) from None
    return LimitsAnswer(
        capacity=capacity, at=options.at, limits=tuple(rows), stairs=stairs[0], stairs_of_any_plan=stairs[1]
    )


def _asked(problem: SymbolicProblem, options: LimitsOptions) -> tuple[int, list[str]]:
    """Return the capacity, and the symbols without a value; raises OptionError."""
    capacity = options.within if options.within is not None else problem.capacity
    if capacity is None:
        raise OptionError("within: is required where the problem has no capacity")
    for name, value in options.at.items():
        if (symbol := problem.symbols.get(name)) is None:
            raise OptionError(
                f"at: must name a symbol of the problem ({', '.join(problem.symbols)}), got {shown(name)}"
            )
        if (rule := value_rule(value, symbol.min, symbol.max, symbol.multiple_of)) is not None:
            raise OptionError(f"at.{name}: {rule}, got {value}")
    free = [name for name in problem.symbols if name not in options.at]
    if len(free) not in (1, 2):
        rest = f"got none for {', '.join(free)}" if free else "got a value for each"
        raise OptionError(f"at: must have values of all symbols but one or two, {rest}")
    return capacity, free


def lines(found: LimitsAnswer) -> Iterator[str]:
    """Yield the limits for people."""
    beside = f" at {where(found.at)}" if found.at else ""
    yield f"within {found.capacity:,} bytes{beside}:"
    for limit in found.limits:
        if limit.by_plan is None:
            yield f"{limit.symbol}: no value fits"
            continue
        same = "" if limit.by_any_plan == limit.by_plan else f"; no plan can pass {limit.by_any_plan}"
        yield f"{limit.symbol} up to {limit.by_plan}{same or ', which no plan can pass'}"
    for row in found.stairs[:_STEPS]:
        yield f"{where(row)}"
    if len(found.stairs) > _STEPS:
        yield f"and {len(found.stairs) - _STEPS} others"
    if found.stairs:
        yield "no plan can pass these" if found.stairs == found.stairs_of_any_plan else "other plans may pass these"
    elif not found.limits:
        yield "no value fits"


def _check(question: Question, options: LimitsOptions) -> None:
    if isinstance(question["problem"], SymbolicProblem):
        _asked(read_sizes(question["problem"], options), options)


CAPABILITY = Capability(
    limits,
    inputs=(SYMBOLIC,),
    lines=lines,
    exit_status=lambda found: 0 if found.stairs or any(row.by_plan is not None for row in found.limits) else 1,
    exits={0: "some value fits", 1: "none does"},
    check=_check,
    example={"problem": EXAMPLE, "options": {"within": 67_108_864, "at": {"b": 8}, "time_limit_s": 5}},
)
