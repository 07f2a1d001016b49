"""The cheapest set that is closed under predecessors, as a maximum flow; closure.cpp."""

from __future__ import annotations

from typing import NamedTuple

from memplan.capabilities.order.core import LIBRARY
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import Flags

CUT, CUT_STOPPED = 1, -1


class Network(NamedTuple):
    """A flow network of n nodes: a node that is chosen must have all nodes that its arcs lead to.

    `gain[v]` and `price[v]` are what choosing node v brings and costs; the flow uses them up. Arc k leads to `to[k]`
    and can take `rest[k]` more; `back[k]` is the arc the other way. Only nodes with `is_open` count. On return the
    nodes with `level[v] >= 0` are the smallest best choice.
    """

    first: I64  # (n + 1,)
    to: I64
    back: I64
    rest: I64
    gain: I64  # (n,)
    price: I64  # (n,)
    is_open: Flags  # (n,)
    level: I64  # (n,)
    flag: I64  # (1,)


close_cheaply = LIBRARY.kernel("close_cheaply", tables=1)
"""`close_cheaply(network)`: find the choice that brings most, less what it costs.

Returns CUT, or CUT_STOPPED where flag[0] was set.
"""
