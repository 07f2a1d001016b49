"""The least price of a piece of few buffers, exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import Reference
from memplan.solvers.prices.core.kernels import MOST_BUFFERS, LeastPrice, least_price
from memplan.solvers.prices.pieces import Offsets, Piece


@dataclass(frozen=True)
class Least:
    """The answer of a search: the least price and a plan that has it, or only a price that no plan is below.

    `price` is None where no plan below `upper` was found; `is_over` says that the search was not stopped.
    """

    bound: int
    nodes: int
    price: int | None = None
    at: Offsets | None = None
    is_over: bool = True


def least_price_of(piece: Piece, upper: int, most_nodes: int, flag: I64) -> Least | None:
    """Search for the least price below `upper`; None where a piece is too large for it."""
    if len(piece) > MOST_BUFFERS:
        return None
    at, counts = np.zeros(len(piece), dtype=np.int64), np.zeros(3, dtype=np.int64)
    run = LeastPrice(upper, most_nodes, at, counts, flag)
    is_over = bool(least_price(Reference(piece.table), Reference(run)))
    nodes, bound, price = counts.tolist()
    return Least(bound, nodes, price, at.tolist(), is_over) if price < upper else Least(bound, nodes, is_over=is_over)
