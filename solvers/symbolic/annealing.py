"""Orders improved for several values of the symbols at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memplan.planner.symbols.problem import Rows, Sized
from memplan.solvers.kernels.abi import Reference
from memplan.solvers.kernels.symbolic.annealing import Annealing, Stack, anneal
from memplan.solvers.symbolic.stacking import Order


def annealed(
    sized: Sized, order: Order, sizes: Rows, bound: NDArray[np.int64], moves: int, heat: float, seed: int
) -> Order:
    """Return the best order that was met, by its largest ratio of peak to bound and the mean of the ratios."""
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
    return tuple(run.best.tolist())
