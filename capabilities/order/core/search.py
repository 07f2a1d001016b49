"""Depth-first search of an order whose peak is within a budget; search.cpp."""

from __future__ import annotations

from typing import NamedTuple

from memplan.capabilities.order.core import LIBRARY
from memplan.planner.model.buffer_table import I64

FOUND, EXHAUSTED, STOPPED = 1, 0, -1
BY_VALLEY, BY_HILL = 0, 1
"""Rules for the branch that comes first: it can end with the fewest bytes alive, or rises most above its end."""


class Budget(NamedTuple):
    """The question of a search, and its answer.

    Is there an order whose peak is at most `budget`, where `live` bytes are alive before the first macro in the
    direction of the search? Segments begin up to `depth` deep inside each other. `rule` says which branch comes first;
    with a `seed` above 0, by chance among similar ones. The search ends when flag[0] is set, or after `node_limit`
    nodes.
    """

    live: int
    budget: int
    depth: int
    rule: int
    seed: int
    node_limit: int
    order: I64  # (n,): filled, in the direction of the search, where one is found
    answer: I64  # (2,): nodes, and the least peak that was refused
    flag: I64  # (1,)


search_order = LIBRARY.kernel("search_order", tables=2)
"""`search_order(moves, budget)`: search for an order within a budget; return the outcome.

FOUND: `order` holds it. EXHAUSTED: there is none, nor is there one under any budget below answer[1]. STOPPED: by the
limit or the flag.
"""
