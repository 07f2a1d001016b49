"""Orders that stay near another one: few operations have to be moved to make one of the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memplan.capabilities.order.kernels.nearness import FOLLOWED, Follow, follow_order
from memplan.capabilities.order.search.macros import single_macros
from memplan.capabilities.order.search.parts import OrderPart, part_of
from memplan.planner.model.buffer_table import I64
from memplan.planner.operations.graph import OperationGraph
from memplan.planner.operations.order_check import moves_of
from memplan.solvers.kernels.abi import Reference

_WORK = 30_000_000
"""The most operations that may be run to find an order nearby."""


def nearby(graph: OperationGraph, order: Sequence[int], budget: int, flag: I64) -> list[tuple[int, ...]]:
    """Return orders within a budget made of a known one by running operations earlier or later; fewest moves first.

    All of them have fewer moves than the known order. The same input gives the same orders, unless flag[0] is set.
    """
    single = single_macros(graph)
    part = part_of(single, list(range(len(order))), lambda _: False, single.start)
    known = tuple(order)
    # Followed from the start, then from the end: what one direction moved without need the other may put back.
    ways = ((True, False, True), (False, True, False))
    found: dict[tuple[int, ...], int] = {}
    for directions in ways:
        nearest = known
        for is_forward in directions:
            followed = _followed(part, nearest, budget, is_forward, flag)
            if followed is not None:
                found[followed] = moves_of(followed)
                nearest = min(nearest, followed, key=moves_of)
    most = moves_of(known)
    return sorted((one for one, moves in found.items() if moves < most), key=found.__getitem__)


def _followed(
    part: OrderPart, order: tuple[int, ...], budget: int, is_forward: bool, flag: I64
) -> tuple[int, ...] | None:
    n = len(order)
    known = np.array([n, *(order if is_forward else order[::-1]), n], dtype=np.int64)
    after, before = np.zeros(n + 1, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
    after[known[:-1]], before[known[1:]] = known[1:], known[:-1]
    near = np.arange(n) if is_forward else np.arange(n)[::-1].copy()
    query = Follow(
        budget=budget,
        after=after,
        before=before,
        rank=near,
        at=near,
        block=np.full(n, -1, dtype=np.int64),
        work=np.array([_WORK], dtype=np.int64),
        flag=flag,
    )
    prefix = part.prefix(is_forward)
    if follow_order(part.moves(is_forward), Reference(prefix), Reference(query)) != FOLLOWED:
        return None
    found = prefix.log[:n] if is_forward else prefix.log[:n][::-1]
    return tuple(found.tolist())
