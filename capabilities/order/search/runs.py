"""The depth-first search of a part: a kernel with its tables, started from the state before any macro has run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memplan.capabilities.order.core.kernels import EXHAUSTED, FOUND, Budget, search_order
from memplan.capabilities.order.search.parts import OrderPart
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import Reference


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
    query = Budget(
        live=part.first_live(way.is_forward),
        budget=budget,
        depth=way.depth,
        rule=way.rule,
        seed=seed,
        node_limit=node_limit,
        order=np.zeros(n, dtype=np.int64),
        answer=np.zeros(2, dtype=np.int64),
        flag=flag,
    )
    outcome = search_order(part.moves(way.is_forward), Reference(query))
    nodes, refused = query.answer.tolist()
    work = (nodes + 1) * (n + 8)
    if outcome == FOUND:
        return OrderOutcome(_in_time(query.order, way.is_forward), None, work)
    return OrderOutcome(None, refused if outcome == EXHAUSTED else None, work)


def _in_time(order: I64, is_forward: bool) -> list[int]:
    operations: list[int] = order.tolist()
    return operations if is_forward else operations[::-1]
