"""The depth-first search of a part: a kernel with its tables, started from the state before any macro has run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memplan.capabilities.order.kernels.depth_first import EXHAUSTED, FOUND, FULL, Budget, search_order
from memplan.capabilities.order.kernels.moves import REFUSED
from memplan.capabilities.order.search.parts import OrderPart
from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.abi import Reference


@dataclass(frozen=True)
class Way:
    """A kind of depth-first search: its direction, the rule for branches, the depth of segments inside segments."""

    is_forward: bool
    rule: int
    depth: int


@dataclass(frozen=True, eq=False)
class OrderOutcome:
    """An order of the part's numbers that a search found, or the bound `above` that it proved, or neither; its work."""

    order: list[int] | None
    above: int | None
    work: int


def descend(part: OrderPart, way: Way, budget: int, node_limit: int, flag: I64, seed: int = 0) -> OrderOutcome:
    """Search for an order within a budget, depth first, through at most `node_limit` states."""
    n = len(part.members)
    # At most half full, so that open addressing finds a free row soon.
    seen = np.zeros((1 << (2 * node_limit + 16).bit_length(), 2), dtype=np.int64)
    room = 16 * n + 1000
    while True:
        prefix = part.prefix(way.is_forward)
        query = Budget(
            budget=budget,
            depth=way.depth,
            rule=way.rule,
            seed=seed,
            node_limit=node_limit,
            seen=seen,
            option=np.zeros(room, dtype=np.int64),
            worth=np.zeros(n + 1),
            node=np.zeros((n + 2, 2), dtype=np.int64),
            flag=flag,
            answer=np.zeros(1, dtype=np.int64),
        )
        outcome = search_order(part.moves(way.is_forward), Reference(prefix), Reference(query))
        if outcome != FULL:
            break
        # The options of all open nodes did not fit; what was seen was seen within budgets of the shorter search.
        room *= 4
        seen[:] = 0
    work = (int(query.answer[0]) + 1) * (n + 8)
    if outcome == FOUND:
        return OrderOutcome(_in_time(prefix.log[:n], way.is_forward), None, work)
    return OrderOutcome(None, int(prefix.number[REFUSED]) if outcome == EXHAUSTED else None, work)


def _in_time(order: I64, is_forward: bool) -> list[int]:
    found: list[int] = order.tolist()
    return found if is_forward else found[::-1]
