"""Offset programs for a problem whose sizes are expressions, within the time of a call."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from memplan.capabilities.capability import Answer, Control
from memplan.capabilities.shapes.limits import bound_at
from memplan.capabilities.shapes.offset_programs import Evaluator
from memplan.capabilities.shapes.search.search import PlanAlone, Planned, search
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Buffer
from memplan.planner.symbols.comparing import ends
from memplan.planner.symbols.problem import SymbolicProblem, compiled
from memplan.solvers.portfolio.solve import solve

SEARCHING = 0.93
"""The part of the time in which plans are looked for and proved; in the rest they are verified."""

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


def planned(problem: SymbolicProblem, most: int, running: Control) -> Planned:
    """Look for offset programs in the time of a call; raises ProblemError for wrong sizes."""
    sized = compiled(problem)
    deadline = time.monotonic() + SEARCHING * running.left_s
    return search(sized, most=most, deadline=deadline, plan_alone=_alone(problem), is_over=lambda: running.is_over)


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


def _alone(problem: SymbolicProblem) -> PlanAlone:
    """Return the planner of one value: the offsets of a plan of given sizes."""

    def plan(sizes: NDArray[np.int64], left_s: float) -> NDArray[np.int64] | None:
        rows = zip(sizes.tolist(), problem.buffers, strict=True)
        buffers = [Buffer(id=i, size=size, start=row.start, end=row.end) for i, (size, row) in enumerate(rows)]
        plan = solve(Problem(buffers=buffers), time_limit_s=left_s)
        if not plan.placements:
            return None
        offsets = {placement.id: placement.offset for placement in plan.placements}
        return np.array([offsets[i] for i in range(len(buffers))], np.int64)

    return plan
