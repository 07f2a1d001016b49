"""All quick orders of a plain problem in one compiled call, for problems so small that calls are what takes time."""

from __future__ import annotations

import threading
from functools import cache
from typing import NamedTuple

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64, column
from memplan.solvers.kernels.abi import Reference
from memplan.solvers.kernels.packing import quick_orders as kernel
from memplan.solvers.kernels.packing.quick_orders import OrderStop, OrderTask, OrderWorkspace, pack_in_orders
from memplan.solvers.kernels.tables import F64
from memplan.solvers.packing.orders import RULES, Rule

_MOST = 512
"""The most buffers for which going through all that is placed is quick."""
_EDGES = 8192
"""More borders of bands than there can be between two numbers, with any base that a rule has."""
_NEVER = 2**62
_TRAITS = {"size": kernel.SIZE, "life": kernel.LIFE, "area": kernel.AREA, "conflicts": kernel.CONFLICTS}
_TRAITS |= {"pressure": kernel.PRESSURE}
_WITHIN = {"start": kernel.BY_START, "end": kernel.BY_END, "life": kernel.BY_LIFE, "size": kernel.BY_SIZE}
_of_thread = threading.local()


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
    task, workspace = _tables()
    n, capacity = len(instance), instance.pools[0].capacity
    columns, found = task.table, task.table.found
    columns.counts[:] = n, instance.n_live_sets, capacity, target, _NEVER if first is None else first
    columns.near[0] = near
    columns.size[:n], columns.stride[:n] = instance.size, instance.alignment[0]
    columns.start[:n], columns.end[:n] = instance.start, instance.end
    best = pack_in_orders(task, workspace, Reference(OrderStop(flag)))
    return None if best < 0 else BestOrder(column(columns.offset[:n]), RULES[best], int(found[kernel.TRIED]))


def _tables() -> tuple[Reference[OrderTask], Reference[OrderWorkspace]]:
    """Return the tables of this thread: laying them out takes longer than a call."""
    if not hasattr(_of_thread, "tables"):
        _of_thread.tables = Reference(_new_task()), Reference(_new_workspace())
    found: tuple[Reference[OrderTask], Reference[OrderWorkspace]] = _of_thread.tables
    return found


def _new_task() -> OrderTask:
    rules, bases = _table()
    size, start, end, stride, offset = np.zeros((5, _MOST), dtype=np.int64)
    return OrderTask(
        counts=np.zeros(5, dtype=np.int64),
        near=np.zeros(1),
        size=size,
        start=start,
        end=end,
        stride=stride,
        rules=rules,
        bases=bases,
        offset=offset,
        found=np.zeros(4, dtype=np.int64),
    )


def _new_workspace() -> OrderWorkspace:
    return OrderWorkspace(
        load=np.zeros(_MOST + 1, dtype=np.int64),
        begun=np.zeros(_MOST + 1, dtype=np.int64),
        over=np.zeros(_MOST + 1, dtype=np.int64),
        traits=np.zeros(6 * _MOST),
        within=np.zeros(4 * _MOST, dtype=np.int64),
        key=np.zeros(_MOST),
        order=np.zeros(_MOST, dtype=np.int64),
        spare=np.zeros(_MOST, dtype=np.int64),
        edges=np.zeros(_EDGES),
        at=np.zeros(_MOST, dtype=np.int64),
        placed=np.zeros(_MOST, dtype=np.int64),
    )


@cache
def _table() -> tuple[I64, F64]:
    """Return RULES as the kernel has them."""
    rows = []
    for rule in RULES:
        row = []
        for name in (*rule.by, None, None)[:2]:
            if name is None:
                row += [kernel.NO_TRAIT, 0, 0]
            else:
                trait, _, power = name.removeprefix("sqrt ").partition("^")
                row += [_TRAITS[trait], int(power or 1), int(name.startswith("sqrt "))]
        rows.append([*row, _WITHIN[rule.within], int(rule.peak_first), int(rule.best_fit)])
    return np.array(rows, dtype=np.int64), np.array([rule.base or 0.0 for rule in RULES], dtype=np.float64)
