"""Orders measured at several values of the symbols at once, and improved for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memplan.capabilities.shapes.kernels.annealing import Annealing, Stack, anneal
from memplan.capabilities.shapes.search.stacking import Order
from memplan.planner.symbols.problem import Rows, Sized
from memplan.solvers.kernels.abi import Reference


def annealed(
    sized: Sized, order: Order, sizes: Rows, bound: NDArray[np.int64], moves: int, heat: float, seed: int
) -> Order:
    """Return the best order that was met, by its largest ratio of peak to bound and the mean of the ratios."""
    return tuple(_run(sized, order, sizes, bound, moves, heat, seed).best.tolist())


def peaks(sized: Sized, order: Sequence[int], sizes: Rows) -> NDArray[np.int64]:
    """Return the largest end of an order at each point."""
    return _run(sized, order, sizes, np.ones(sizes.shape[1], np.int64), 0, 0.0, 1).peak


def _run(
    sized: Sized, order: Sequence[int], sizes: Rows, bound: NDArray[np.int64], moves: int, heat: float, seed: int
) -> Annealing:
    """Run the kernel; without moves it measures the order alone."""
    count, values = sizes.shape
    facts = Stack(sized.first, sized.last, np.ascontiguousarray(sizes), np.ascontiguousarray(bound))

    def row() -> NDArray[np.int64]:
        return np.zeros(count, np.int64)

    def table() -> NDArray[np.int64]:
        return np.zeros((count, values), np.int64)

    run = Annealing(
        order=np.array(order, np.int64),
        best=row(),
        trial=row(),
        chain=row(),
        offset=table(),
        kept=table(),
        top=np.zeros((sized.live_sets, values), np.int64),
        peak=np.zeros(values, np.int64),
        kept_peak=np.zeros(values, np.int64),
        random=np.array([seed], np.int64),
        moves=moves,
        heat=heat,
        flag=np.zeros(1, np.int64),
    )
    anneal(Reference(facts), Reference(run))
    return run
