"""The bound on the cost of buffers that move, which the checker computes from the prices that are found."""

from collections.abc import Sequence
from math import ceil

import numpy as np

from memplan.planner.errors.extras import is_installed
from memplan.planner.model.moving import MovingBuffer, moving_buffers
from memplan.planner.model.problem import Problem
from memplan.solvers.moves.capacities import Capacity, capacities
from memplan.solvers.moves.engine import PiecesEngine
from memplan.solvers.moves.prices import MovesChecker, Price, ProvedBound
from memplan.solvers.moves.program import PiecesProgram
from memplan.solvers.moves.steps import PriceSteps
from memplan.solvers.search.control import Control

_MOST_ENTRIES = 4_000_000
"""The limit of entries in the rows of loads; larger programs would take minutes."""
_CHECKED_PER_S = 5_000
"""The accesses per second that the checker can at least follow."""
_SCALE = 2**20


def has_program(rows: Sequence[MovingBuffer], limits: Sequence[Capacity]) -> bool:
    """Return True if the engine is installed, and the program of all pieces is small enough for it."""
    if not is_installed("highspy"):
        return False
    moments = np.array(sorted({time for row in rows for time in (row.start, *(use.time for use in row.uses))}))
    spans = np.searchsorted(moments, [(row.start, row.end) for row in rows])
    return sum(limit.most is not None for limit in limits) * int((spans[:, 1] - spans[:, 0]).sum()) <= _MOST_ENTRIES


def proved_bound(problem: Problem, cost: float, control: Control) -> ProvedBound:
    """Return the best bound up to a cost, by the prices of the linear relaxation or, without it, of steps."""
    rows = moving_buffers(problem)
    limits = capacities(problem, rows)
    if has_program(rows, limits):
        with PiecesEngine(control, 0) as engine:
            program = PiecesProgram(problem, rows, limits)
            relaxed = engine.relax(program)
        if relaxed.worth:
            return MovesChecker(problem).best(program, relaxed.worth, relaxed.cost, cost)
    return stepped_bound(problem, rows, limits, cost, control)


def stepped_bound(
    problem: Problem, rows: Sequence[MovingBuffer], limits: Sequence[Capacity], cost: float, control: Control
) -> ProvedBound:
    """Return the best bound up to a cost by steps in a part of the time left: of the fast pool, if it has too little.

    Without time for the checker, the bound is 0.
    """
    checker, pools = MovesChecker(problem), problem.pools
    check_s = sum(len(row.uses) for row in rows) / _CHECKED_PER_S
    if check_s > control.remaining_s:
        return ProvedBound(0, checker.parts)
    goal = ceil(cost * checker.parts)
    by_cost = sorted(range(len(pools)), key=lambda q: pools[q].cost)
    fast = next((q for q in by_cost if pools[q].direct and limits[q].most is not None), None)
    seconds = (control.remaining_s - check_s) * 0.6
    prices: list[Price] = []
    if fast is not None and len(pools) > 1 and seconds > 0:
        other = next(q for q in by_cost[::-1] if q != fast)
        movable = [row for row in rows if row.uses and fast in row.pools and other in row.pools]
        if movable:
            steps = PriceSteps(problem, movable, fast, other)
            worth = steps.find(limits[fast].most or 0, cost, control, seconds) * checker.parts * _SCALE
            every = zip(steps.times.tolist(), np.round(worth).tolist(), strict=True)
            prices = [Price(fast, time, int(price)) for time, price in every if price > 0]
    return checker.bound(_SCALE, prices, goal)
