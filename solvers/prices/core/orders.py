"""The cheapest plan whose pairs meet otherwise than in some known plans; priced_orders.hpp."""

from __future__ import annotations

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import Rows
from memplan.solvers.prices.core import LIBRARY

STOPPED = -2


class Orders(NamedTuple):
    """A search for a plan that costs less than `upper`, of the `k` pairs with a price, ended by one at `least`.

    The pairs that meet differ in at least distance[q] from those where known[q] is 1. Buffer v lies no lower than
    twin[v], unless that is -1. A plan costs at least (base + the sum of charge over the pairs that meet) / scale.
    `at` is filled with the best plan, `counts` with (nodes, its price or `upper`).
    """

    known: Rows  # (m, k)
    distance: I64  # (m,)
    twin: I64  # (n,)
    guide: I64  # (n,)
    charge: I64  # (k,)
    base: int
    scale: int
    least: int
    upper: int
    most_nodes: int
    at: I64  # (n,)
    counts: I64  # (2,)
    flag: I64  # (1,)


least_orders = LIBRARY.kernel("least_orders", tables=2)
"""`least_orders(piece, orders)`: return the least price, -1 for none, or STOPPED by the limit of nodes or flag[0]."""
