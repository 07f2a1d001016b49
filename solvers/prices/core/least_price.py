"""The least price of a piece, exactly; least_price.hpp."""

from __future__ import annotations

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.prices.core import LIBRARY

MOST_BUFFERS = 64


class LeastPrice(NamedTuple):
    """A search for a plan that costs less than `upper`, of a piece of few buffers.

    `at` is filled with the best plan, `counts` with (nodes, a price that no plan is below, its price or `upper`).
    """

    upper: int
    most_nodes: int
    at: I64  # (n,)
    counts: I64  # (3,)
    flag: I64  # (1,)


least_price = LIBRARY.kernel("least_price", tables=2)
"""`least_price(piece, run)`: return 1, or 0 where it was stopped by the limit of nodes or by flag[0]."""
