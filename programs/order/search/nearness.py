"""The search for orders that differ from a preferred order by only a few moved operations."""

from collections.abc import Sequence

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.order_check import move_count
from memplan.programs.order.core.kernels import FOLLOWED, Follow, follow_order
from memplan.programs.order.search.macros import single_macros
from memplan.programs.order.search.parts import OrderPart, part_of
from memplan.solvers.core.tables import Reference

_WORK = 30_000_000
"""The maximum number of operation runs in the search for a nearby order."""


def nearby_orders(graph: OperationGraph, order: Sequence[int], budget: int, flag: I64) -> list[tuple[int, ...]]:
    """Return orders within a peak budget that need fewer moves than a known order, fewest moves first.

    They result from moving operations of the known order. The result is deterministic unless flag[0] is set.
    """
    single = single_macros(graph)
    part = part_of(single, list(range(len(order))), lambda _: False, single.start)
    key = tuple(order)
    # A pass in one direction may undo unnecessary moves of the other direction, so alternate the directions.
    ways = ((True, False, True), (False, True, False))
    orders: dict[tuple[int, ...], int] = {}
    for directions in ways:
        nearest = key
        for is_forward in directions:
            followed = _followed_order(part, nearest, budget, is_forward, flag)
            if followed is not None:
                orders[followed] = move_count(followed)
                nearest = min(nearest, followed, key=move_count)
    most = move_count(key)
    return sorted((one for one, moves in orders.items() if moves < most), key=orders.__getitem__)


def _followed_order(
    part: OrderPart, order: tuple[int, ...], budget: int, is_forward: bool, flag: I64
) -> tuple[int, ...] | None:
    """Return an order within a budget, changed from `order` towards the part's own order; None if none is found."""
    n, towards = len(order), 1 if is_forward else -1
    query = Follow(
        live=part.first_live(is_forward),
        budget=budget,
        work=_WORK,
        order=np.array(order[::towards], dtype=np.int64),
        near=np.arange(n)[::towards].copy(),
        followed=np.zeros(n, dtype=np.int64),
        flag=flag,
    )
    if follow_order(part.moves(is_forward), Reference(query)) != FOLLOWED:
        return None
    return tuple(query.followed[::towards].tolist())
