"""The peak of offset programs, and the bound, over each symbol."""

from __future__ import annotations

from collections.abc import Iterator

from memplan.capabilities.capability import Answer
from memplan.capabilities.shapes.limits import bound_at
from memplan.capabilities.shapes.offset_programs import Evaluator
from memplan.capabilities.shapes.search.search import Planned
from memplan.planner.symbols.comparing import ends
from memplan.planner.symbols.problem import SymbolicProblem

CURVE_POINTS = 64
"""The most values of a symbol in its curve: 5 ms for 700 buffers."""


class Curve(Answer):
    """The peak over the values of one symbol, and the bound there; the others have the values `at`, their largest.

    A symbol that nothing bounds ends at 64 times its least value.
    """

    symbol: str
    at: dict[str, int]
    values: tuple[int, ...]
    peak: tuple[int, ...]
    bound: tuple[int, ...]


def curves(problem: SymbolicProblem, found: Planned) -> Iterator[Curve]:
    """Yield a curve for each symbol that has several values."""
    space = found.sized.space
    peak, bound = Evaluator(problem, found.programs).peak, bound_at(found.sized, found.loads)
    steps = ends(space)
    largest = {name: high * space.symbols[name].multiple_of for name, (_, high) in steps.items()}
    for name, (low, high) in steps.items():
        count = min(CURVE_POINTS, high - low + 1)
        if count > 1:
            chosen = (low + (high - low) * k // (count - 1) for k in range(count))
            values = tuple(step * space.symbols[name].multiple_of for step in chosen)
            points = [{**largest, name: value} for value in values]
            others = {other: value for other, value in largest.items() if other != name}
            yield Curve(
                symbol=name,
                at=others,
                values=values,
                peak=tuple(map(peak, points)),
                bound=tuple(map(bound, points)),
            )
