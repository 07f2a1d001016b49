"""An order that stays near another one, made of an order within a budget; nearness.cpp."""

from __future__ import annotations

from typing import NamedTuple

from memplan.capabilities.order.core import LIBRARY
from memplan.planner.model.buffer_table import I64

FOLLOWED, FOLLOW_STOPPED = 1, -1


class Follow(NamedTuple):
    """A known order within a budget, and the order to stay near, both in the direction of the search.

    `live` bytes are alive before the first operation. near[v] is the place of operation v in the order to stay near.
    After `work` operations run, what is left runs as known.
    """

    live: int
    budget: int
    work: int
    order: I64  # (n,)
    near: I64  # (n,)
    followed: I64  # (n,): filled
    flag: I64  # (1,)


follow_order = LIBRARY.kernel("follow_order", tables=2)
"""`follow_order(moves, follow)`: at each place comes, within the budget, what is first in the order to stay near.

Returns FOLLOWED, or FOLLOW_STOPPED where flag[0] was set.
"""
