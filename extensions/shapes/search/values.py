"""Stacking orders for sampled symbol values: planned for one value, improved for several, and chosen to cover all."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memplan.extensions.shapes.core.annealing import Stacking, anneal
from memplan.extensions.shapes.search.stacking import Order
from memplan.planner.model.intervals import merge_spans
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Buffer
from memplan.programs.symbols.sized import CompiledSizes, Rows
from memplan.solvers.core.tables import Reference
from memplan.solvers.portfolio.solve import solve

WORK = 30_000_000
"""The number of steps in one round of random moves, which takes about 20 ms."""


def planned_offsets(
    sized: CompiledSizes, sizes: NDArray[np.int64], least: NDArray[np.int64], limit_s: float
) -> NDArray[np.int64] | None:
    """Return the offsets in bytes of a plan at one value of the symbols; None if none is found in `limit_s` seconds."""
    pins = {buffer for buffer, _ in sized.pins}
    buffers = []
    for i, (size, pin) in enumerate(zip(sizes.tolist(), least.tolist(), strict=True)):
        lives = [(time, time + 1) for time in sized.sets_of(i).tolist()]
        at = pin if i in pins else None
        buffers += [Buffer(id=i, size=size, lifetimes=tuple(merge_spans(lives)), offset=at)] if lives else []
    plan = solve(Problem(buffers=buffers), time_limit_s=limit_s)
    offsets = np.zeros(sized.count, np.int64)
    for placement in plan.placements:
        offsets[int(placement.id)] = placement.offset
    return offsets if plan.placements else None


def improve_order(
    sized: CompiledSizes, start: Order, at: tuple[Rows, Rows, NDArray[np.int64]], heat: float, seed: int
) -> Order:
    """Return an order as good as `start` or better at several values; `at` has sizes, offsets and bounds there."""
    sizes, least, bound = map(np.ascontiguousarray, at)
    order = np.array(start, np.int64)
    moves = max(200, min(8000, WORK // max(1, len(sized.sets) * len(bound))))
    facts = (sized.first, sized.sets, sizes, least, bound, order, np.array([seed], np.int64))
    anneal(Reference(Stacking(*facts, sized.live_sets, moves, heat)))
    return tuple(order.tolist())


def first_optimal(worst: Sequence[float]) -> int:
    """Return the index of the first ratio of at most 1.

    If all are above 1, return the index of the first ratio within 0.0002 of the smallest.
    """
    enough = 1.0 if min(worst) <= 1 else min(worst) + 0.0002
    return next(i for i, ratio in enumerate(worst) if ratio <= enough)


def best_row_cover(ratios: NDArray[np.float64], count: int) -> list[int]:
    """Select `count` rows, such that each column has a low ratio in a selected row; return their positions.

    The score to minimise, greedily and by swaps, is the worst column's ratio, plus 0.3 times the mean.
    """

    def score(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = rows.max(axis=-1) + 0.3 * rows.mean(axis=-1)
        return scores

    chosen: list[int] = []
    for _ in range(count):
        covered = ratios[chosen].min(axis=0) if chosen else np.full(ratios.shape[1], np.inf)
        chosen.append(int(score(np.minimum(ratios, covered)).argmin()))
        for j in range(len(chosen)):
            others = [each for i, each in enumerate(chosen) if i != j]
            covered = ratios[others].min(axis=0) if others else np.full(ratios.shape[1], np.inf)
            chosen[j] = int(score(np.minimum(ratios, covered)).argmin())
    return chosen
