"""Depth-first search of an order whose peak is within a budget."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple, cast

import numpy as np

from memplan.capabilities.order.kernels import GROUP
from memplan.capabilities.order.kernels.moves import (
    HILL,
    LIVE,
    LOGGED,
    READY,
    VALLEY,
    Moves,
    Prefix,
    run,
    take_back,
    turn,
)
from memplan.capabilities.order.kernels.segments import grow
from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.kernel import Kernel
from memplan.solvers.kernels.tables import ABSENT, F64, ONE, ZERO, Rows, step

FOUND, EXHAUSTED, STOPPED, FULL = 1, 0, -1, -2
BY_VALLEY, BY_HILL = 0, 1
"""Rules for the branch that comes first: it can end with the fewest bytes alive, or rises most above its end."""
_LONGEST, _ALLOWED, _LONGEST_LOOK, _ALLOWED_LOOK, _LOWEST = (
    cast(int, np.int64(value)) for value in (200, 600, 40, 100, -(2**62))
)
"""The limits of segments: their macros, and the macros that are tried; both for segments that are only looked at."""


class Budget(NamedTuple):
    """The question of a search, and its answer.

    Is there an order whose peak is at most `budget`? Segments begin up to `depth` deep inside each other. `rule` says
    which branch comes first; with a `seed` above 0, by chance among similar ones. The search ends when flag[0] is set,
    or after `node_limit` nodes. `seen` has 2^b rows, more than twice the node limit, all zero.
    """

    budget: int
    depth: int
    rule: int
    seed: int
    node_limit: int
    seen: Rows
    option: I64  # the options of all open nodes, one after the other
    worth: F64  # (n + 1,): scratch
    node: Rows  # (n + 1, 2): for each open node, its first option and the length of the log
    flag: I64  # (1,)
    answer: I64  # (1,): nodes


@step
def is_new(seen: Rows, key: I64) -> bool:
    """Enter the key of a state; return False if it was there."""
    mask = len(seen) - 1
    i = key[0] & mask
    while seen[i, 0] != 0:
        if seen[i, 0] == key[0] and seen[i, 1] == key[1]:
            return False
        i = (i + 1) & mask
    seen[i, 0], seen[i, 1] = key[0], key[1]
    return True


@step
def commit(moves: Moves, prefix: Prefix, query: Budget) -> None:
    """Run segments as long as there are any."""
    number = prefix.number
    j = 0
    while j < number[READY] and query.flag[0] == 0:
        first = number[LOGGED]
        if grow(moves, prefix, prefix.ready[j], query.budget, number[LIVE], query.depth, _LONGEST, _ALLOWED):
            for row in range(first, number[LOGGED]):
                turn(moves, prefix, prefix.log[row], ONE)
            j = 0
        else:
            j += 1


@step
def list_options(moves: Moves, prefix: Prefix, query: Budget, first: int, state: int) -> int:
    """Write the macros that can run next within the budget, the best one last, and return the end of them."""
    number, option, worth = prefix.number, query.option, query.worth
    end = first
    for j in range(number[READY]):
        macro = prefix.ready[j]
        grow(moves, prefix, macro, query.budget, _LOWEST, ZERO, _LONGEST_LOOK, _ALLOWED_LOOK)
        if number[HILL] > query.budget:
            continue
        value = float(number[VALLEY]) if query.rule == BY_VALLEY else float(number[VALLEY] - number[HILL])
        if state > 0:
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            value *= 0.85 + 0.3 * state / 2147483648.0
        i = end
        while i > first and worth[i - 1 - first] < value:
            worth[i - first] = worth[i - 1 - first]
            option[i] = option[i - 1]
            i -= 1
        worth[i - first], option[i] = value, macro
        end += 1
    return end


@partial(Kernel, group=GROUP)
def search_order(moves: Moves, prefix: Prefix, query: Budget) -> int:
    """Search for an order within a budget; return the outcome.

    FOUND: `prefix.log` holds it. EXHAUSTED: there is none, nor is there one under any budget below
    `prefix.number[REFUSED]`. STOPPED: by the limit or the flag. FULL: `query.option` is too short. The state must be
    the one before any macro has run.
    """
    number, log, node, option = prefix.number, prefix.log, query.node, query.option
    n = len(prefix.waits)
    depth, end, nodes, is_open, state = 0, 0, 0, True, query.seed
    while True:
        # 1. Enter a state: run what needs no choice, then list what can run next, unless the state was seen before.
        if is_open:
            commit(moves, prefix, query)
            if number[LOGGED] == n:
                query.answer[0] = nodes
                return FOUND
            nodes += 1
            if nodes > query.node_limit or query.flag[0] != 0:
                query.answer[0] = nodes
                return STOPPED
            if end + number[READY] > len(option):
                return FULL
            node[depth, 0], node[depth, 1] = end, number[LOGGED]
            depth += 1
            if is_new(query.seen, prefix.key):
                end = list_options(moves, prefix, query, end, state)
                state = (state * 1103515245 + 12345) & 0x7FFFFFFF

        # 2. Take the next option of the last open node, or close the node.
        if depth == 0:
            query.answer[0] = nodes
            return EXHAUSTED
        while number[LOGGED] > node[depth - 1, 1]:
            turn(moves, prefix, log[number[LOGGED] - 1], ABSENT)
            take_back(moves, prefix)
        is_open = end > node[depth - 1, 0]
        if is_open:
            end -= 1
            macro = option[end]
            run(moves, prefix, macro)
            turn(moves, prefix, macro, ONE)
        else:
            depth -= 1
