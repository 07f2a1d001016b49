"""The table of quick orders, tried one after the other in one call; see quick_orders.hpp."""

from __future__ import annotations

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.library import CORE


class OrderTask(NamedTuple):
    """The `n` buffers, sizes in units, times in live sets.

    The search ends with a peak of at most `target`, and after `first` orders where the best is more than `near` times
    the target, or nothing fits.
    """

    size: I64  # (n,)
    start: I64
    end: I64
    stride: I64  # (n,): offsets are multiples of it
    n_live_sets: int
    capacity: int
    target: int
    first: int
    near: float
    offset: I64  # (n,): those of the best order, where there is one
    tried: I64  # (1,): how many orders were tried
    flag: I64  # (1,)


pack_in_orders = CORE.kernel("pack_in_orders", tables=1)
"""`pack_in_orders(task)`: pack in one order of `RULES` after the other; return the number of the best, -1 where nothing
fits.

Once flag[0] is not 0, no further order is tried. Sums of sizes and waste must stay below 2^62.
"""
