"""The least price of a piece with few places, exactly: a grid, or colours where all sizes are equal.

With one size s, the numbers offset // s of any plan are colours of a plan that costs no more: two of one colour met
before. So of equal sizes only the colours count, and all of them are alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import Reference
from memplan.solvers.prices.core.dolls import NONE_BELOW, STOPPED, Dolls, open_dolls
from memplan.solvers.prices.core.orders import Orders, least_orders
from memplan.solvers.prices.core.piece import NEVER
from memplan.solvers.prices.pieces import Offsets, Piece

MOST_PLACES, MOST_BUFFERS = 256, 64
_NODES_A_DECISION = 20
"""The nodes of a search of few places that one of a search by what lies below what takes as long as."""
_MOST_STARTS = 1_000_000
"""The most starts of which those that plans need are looked for."""


@dataclass(frozen=True)
class Least:
    """The answer of a search: the least price and a plan that has it, or only a price that no plan is below.

    `price` is None where the search was stopped, and where nothing costs less than `upper` (`is_over`).
    """

    bound: int
    nodes: int
    price: int | None = None
    at: Offsets | None = None
    is_over: bool = True


def least_price(piece: Piece, upper: int, most_nodes: int, flag: I64) -> Least | None:
    """Search for the least price below `upper`; None where a piece is too large for it."""
    if len(piece) > MOST_BUFFERS:
        return None
    if not piece.is_plain:
        return _least_by_order(piece, upper, most_nodes // _NODES_A_DECISION, flag)
    is_coloured = _has_one_size(piece)
    table, size = piece.table, int(piece.size[0])
    if is_coloured:
        colours = min(int(piece.highest[0]) // size + 1, len(piece))
        place, one = np.arange(colours), np.ones(len(piece), dtype=np.int64)
        table = table._replace(size=one, lowest=0 * one, highest=one * (colours - 1), step=one)
    else:
        place = _places(piece)
    if len(place) > MOST_PLACES:
        return _least_by_order(piece, upper, most_nodes // _NODES_A_DECISION, flag)
    order = np.argsort(-np.where(piece.price == NEVER, 3, piece.price).sum(axis=1), kind="stable")
    is_mirrored = not is_coloured and _is_mirrored(piece)
    at, counts = np.zeros(len(piece), dtype=np.int64), np.zeros(2, dtype=np.int64)
    twin = piece.twins(order)
    run = Dolls(place, order, twin, is_coloured, is_mirrored, upper, most_nodes, at, counts, flag)
    price = open_dolls(Reference(table), Reference(run))
    bound, nodes = int(counts[1]), int(counts[0])
    if price == STOPPED:
        return Least(bound, nodes, is_over=False)
    if price == NONE_BELOW:
        return Least(bound, nodes)
    return Least(price, nodes, price, (at * size if is_coloured else at).tolist())


def _least_by_order(piece: Piece, upper: int, most_nodes: int, flag: I64) -> Least:
    """Search for the least price by what lies below what, which knows banks and needs no few places."""
    n, pairs = len(piece), len(piece.pairs)
    at, counts, none = np.zeros(n, dtype=np.int64), np.zeros(2, dtype=np.int64), np.zeros(0, dtype=np.int64)
    # Without a plan to follow, those listed first lie lower.
    own = (piece.twins(np.arange(n)), np.cumsum(piece.size), np.zeros(pairs, dtype=np.int64), 0, 1)
    run = Orders(none.reshape(0, pairs), none, *own, 0, upper, most_nodes, at, counts, flag)
    is_over = least_orders(Reference(piece.table), Reference(run)) != STOPPED
    nodes, price = int(counts[0]) * _NODES_A_DECISION, int(counts[1])
    bound = price if is_over else 0
    return Least(bound, nodes, price, at.tolist(), is_over) if price < upper else Least(bound, nodes, is_over=is_over)


def _has_one_size(piece: Piece) -> bool:
    size = int(piece.size[0])
    is_free = len(piece.reserved) == 0 and not piece.lowest.any() and bool((size % piece.step == 0).all())
    return is_free and bool((piece.size == size).all()) and len({*(piece.highest // size).tolist()}) == 1


def _is_mirrored(piece: Piece) -> bool:
    """Say whether a plan turned upside down is one as well."""
    is_free = len(piece.reserved) == 0 and not piece.lowest.any() and bool((piece.step == 1).all())
    return is_free and len({*(piece.highest + piece.size).tolist()}) == 1


def _places(piece: Piece) -> I64:
    """Return all starts that a plan may have that is pushed down: sums of sizes, from the bottom or a border on."""
    top = int(piece.highest.max()) + 1
    if top > _MOST_STARTS or bool((piece.step > 1).any()):
        return np.arange(min(top, MOST_PLACES + 1))
    found = np.zeros(top, dtype=np.bool_)
    found[[at for at in (*piece.lowest.tolist(), *piece.reserved[:, 1].tolist()) if at < top]] = True
    for size in piece.size.tolist():  # each once at the most
        found[size:] |= found[: max(0, top - size)].copy()
    return np.flatnonzero(found)
