"""The searches of a part: each is a kernel with its tables, started from the state before any macro has run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memplan.capabilities.order.kernels.beam import (
    ABOVE,
    BEAM_EXHAUSTED,
    BEAM_FOUND,
    STATES,
    WORD_BITS,
    Beam,
    beam_order,
)
from memplan.capabilities.order.kernels.depth_first import EXHAUSTED, FOUND, FULL, Budget, search_order
from memplan.capabilities.order.kernels.moves import REFUSED
from memplan.capabilities.order.search.parts import OrderPart
from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.abi import Reference

_MOST_CELLS = 4_000_000
"""The most numbers in one table of a beam."""


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


def widest(part: OrderPart) -> int:
    """Return the largest number of states that a beam may keep."""
    return max(2, _MOST_CELLS // (2 * len(part.members)))


def beam(part: OrderPart, is_forward: bool, cap: int, width: int, by_peak: bool, flag: I64) -> OrderOutcome:
    """Search for an order within a cap, a number of states wide."""
    n = len(part.members)
    moves = part.moves(is_forward)
    prefix = part.prefix(is_forward)
    words = n // WORD_BITS + 1

    def table(*shape: int) -> I64:
        return np.zeros(shape, dtype=np.int64)

    query = Beam(
        cap=cap,
        by_peak=by_peak,
        ran=table(2 * width, words),
        ready=np.empty((2 * width, n), dtype=np.int64),
        n_ready=table(2 * width),
        live=table(2 * width),
        peak=table(2 * width),
        key=table(2 * width, 2),
        parent=np.empty((n, width), dtype=np.int64),
        choice=np.empty((n, width), dtype=np.int64),
        heap=table(width),
        of_state=table(width),
        of_macro=table(width),
        new_live=table(width),
        new_peak=table(width),
        new_key=table(width, 2),
        looked_live=table(n),
        looked_peak=table(n),
        seen=table(1 << (16 * width + 64).bit_length(), 3),
        flag=flag,
        order=table(n),
        answer=table(3),
    )
    live = part.start if is_forward else part.end
    query.start(prefix.ready[: int(prefix.number[1])], live, live)
    outcome = beam_order(moves, Reference(query))
    work = int(query.answer[STATES]) * 8 + n
    if outcome == BEAM_FOUND:
        return OrderOutcome(_in_time(query.order, is_forward), None, work)
    return OrderOutcome(None, int(query.answer[ABOVE]) if outcome == BEAM_EXHAUSTED else None, work)


def _in_time(order: I64, is_forward: bool) -> list[int]:
    found: list[int] = order.tolist()
    return found if is_forward else found[::-1]
