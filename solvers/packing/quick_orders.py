"""All quick orders of a plain problem in one compiled call, for problems so small that calls are what takes time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64, column
from memplan.solvers.core.quick_orders import OrderTask, pack_in_orders
from memplan.solvers.core.tables import Reference
from memplan.solvers.packing.orders import RULES, Rule

_MOST = 512
"""The most buffers for which going through all that is placed is quick."""
_NEVER = 2**62


class BestOrder(NamedTuple):
    """The offsets (units) of the best order, and its rule; `tried` is the number of orders."""

    offset: I64
    rule: Rule
    tried: int


def suits(instance: Instance) -> bool:
    """Return True if one call does for an instance: it is small and plain."""
    return len(instance) <= _MOST and instance.is_plain and instance.is_small_numbered


def best_order(
    instance: Instance, flag: I64, target: int, first: int | None = None, near: float = 0.0
) -> BestOrder | None:
    """Pack in the orders of RULES until one ends at `target`; return the best, None where nothing fits in any.

    After `first` orders, where one is given, it ends too if the best one is above `near` times the target.
    """
    n = len(instance)
    task = OrderTask(
        size=instance.size,
        start=instance.start,
        end=instance.end,
        stride=instance.alignment[0],
        n_live_sets=instance.n_live_sets,
        capacity=instance.pools[0].capacity,
        target=target,
        first=_NEVER if first is None else first,
        near=near,
        offset=np.zeros(n, dtype=np.int64),
        tried=np.zeros(1, dtype=np.int64),
        flag=flag,
    )
    best = pack_in_orders(Reference(task))
    return None if best < 0 else BestOrder(column(task.offset), RULES[best], int(task.tried[0]))
