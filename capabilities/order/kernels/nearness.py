"""An order that stays near another one, made of an order within a budget by running operations earlier."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from memplan.capabilities.order.kernels import GROUP
from memplan.capabilities.order.kernels.moves import LIVE, LOGGED, Moves, Prefix, run, take_back
from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.kernel import Kernel
from memplan.solvers.kernels.tables import step

FOLLOWED, FOLLOW_STOPPED = 1, -1
_MOST_TRIES = 6
"""The operations that are tried for one place of the order."""


class Follow(NamedTuple):
    """A known order within a budget, and the order to stay near, both in the direction of the search.

    `after` and `before` chain what the known order still has to run: after[n] is the first, before[n] the last one.
    `rank` and `at` are the order to stay near: places of operations, operations of places. An operation whose `block`
    is another one is not tried until that has run. `work[0]` counts down with each operation that runs; below 0, what
    is left runs as known.
    """

    budget: int
    after: I64  # (n + 1,)
    before: I64  # (n + 1,)
    rank: I64  # (n,)
    at: I64  # (n,)
    block: I64  # (n,), -1 where there is none
    work: I64  # (1,)
    flag: I64  # (1,)


@step
def can_go_first(moves: Moves, prefix: Prefix, query: Follow, macro: int) -> bool:
    """Return True if the known order stays within the budget when a macro runs now, before all that it has left."""
    number = prefix.number
    first, live, n = number[LOGGED], number[LIVE], len(prefix.waits)
    top = run(moves, prefix, macro)
    query.work[0] -= 1
    blocked_by = query.after[n] if top > query.budget else -1
    # What adds no bytes makes nothing worse for those that follow.
    is_free = number[LIVE] <= live
    other = query.after[n]
    while blocked_by < 0 and not is_free and other != macro:
        if run(moves, prefix, other) > query.budget:
            blocked_by = other
        query.work[0] -= 1
        other = query.after[other]
    while number[LOGGED] > first:
        take_back(moves, prefix)
    query.block[macro] = blocked_by
    return bool(blocked_by < 0)


@partial(Kernel, group=GROUP)
def follow_order(moves: Moves, prefix: Prefix, query: Follow) -> int:
    """Write an order within the budget into `prefix.log`: at each place what comes first in the order to stay near.

    Returns FOLLOWED, or FOLLOW_STOPPED where flag[0] was set. The state must be the one before any macro has run.
    """
    n = len(prefix.waits)
    number, spot, after, before = prefix.number, prefix.spot, query.after, query.before
    low = 0
    while number[LOGGED] < n:
        if query.flag[0] != 0:
            return FOLLOW_STOPPED
        # 1. Look for an operation that comes before the known one in the order to stay near, and can run.
        known = after[n]
        while low < n and spot[query.at[low]] <= -2:
            low += 1
        macro, place, tries = known, low, 0
        while place < query.rank[known] and tries < _MOST_TRIES and query.work[0] > 0:
            other = query.at[place]
            place += 1
            if spot[other] < 0 or (query.block[other] >= 0 and spot[query.block[other]] > -2):
                continue
            tries += 1
            if can_go_first(moves, prefix, query, other):
                macro = other
                break

        # 2. Run it, and take it out of what is left.
        run(moves, prefix, macro)
        after[before[macro]] = after[macro]
        before[after[macro]] = before[macro]
    return FOLLOWED
