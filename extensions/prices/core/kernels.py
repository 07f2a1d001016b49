"""The tables of the kernels that search pieces for the least price and for cheaper plans; see the C++ files here."""

from __future__ import annotations

from typing import NamedTuple

from memplan.extensions.prices.core import LIBRARY
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import F64, Rows

NEVER = -1
"""The price of pairs that must not meet, as a marker."""


class PieceTable(NamedTuple):
    """A piece: `n` buffers of one pool, `r` reserved ranges, and `e` entries, two per pair; offsets are in units.

    Buffer v starts at lowest[v] + k * step[v], at most at highest[v], with which it ends at the pool's end. The entries
    first[v]:first[v + 1] are its pairs. A pair meets if fewer than `gap` units are between its buffers or, if `grid` is
    above 1, if both touch the same cell of the grid. Cells begin at offsets o with (o + shift) % grid == 0.
    """

    size: I64  # (n,)
    lowest: I64  # (n,)
    highest: I64  # (n,)
    step: I64  # (n,)
    first: I64  # (n + 1,)
    other: I64  # (e,)
    price: I64  # (e,), NEVER for pairs that must not meet
    grid: I64  # (e,)
    gap: I64  # (e,)
    reserved: Rows  # (r, 2), ascending and disjoint
    shift: int


MOST_BUFFERS = 64


class LeastPrice(NamedTuple):
    """The task of finding a plan cheaper than `upper` for a piece with few buffers.

    The kernel fills `at` with the starts of the best plan, and `counts` with (nodes, lower bound on the price, price or
    `upper`).
    """

    upper: int
    most_nodes: int
    at: I64  # (n,)
    counts: I64  # (3,)
    flag: I64  # (1,)


least_price = LIBRARY.kernel("least_price", tables=2)
"""`least_price(piece, run)`: search exactly; return 1 if complete, or 0 if stopped by the node limit or flag[0]."""


STOPPED = -2


class Orders(NamedTuple):
    """The task of finding a plan cheaper than `upper` by branching on the orders of `k` priced pairs.

    The search ends at a price of `least`. The set of pairs that meet must differ in at least distance[q] pairs from the
    set known[q]. Buffer v must not be below buffer twin[v], unless that is -1. A plan costs at least (base + sum of
    charge over the pairs that meet) / scale. The kernel fills `at` with the best plan, and `counts` with (nodes, price
    or `upper`).
    """

    known: Rows  # (m, k)
    distance: I64  # (m,)
    twin: I64  # (n,)
    guide: I64  # (n,)
    charge: I64  # (k,)
    base: int
    scale: int
    least: int
    upper: int
    most_nodes: int
    at: I64  # (n,)
    counts: I64  # (2,)
    flag: I64  # (1,)


least_orders = LIBRARY.kernel("least_orders", tables=2)
"""`least_orders(piece, orders)`: return the least price, -1 for none, or STOPPED by the node limit or flag[0]."""


class Walk(NamedTuple):
    """An annealing walk at one temperature `heat`, in units of price, from plan `at` until the best costs `goal`.

    The kernel updates `at` and `best`, the best plan so far. `numbers` are the random state (not 0), and the prices of
    the two plans.
    """

    at: I64  # (n,)
    best: I64  # (n,)
    numbers: I64  # (3,)
    heat: float
    steps: int
    goal: int
    flag: I64  # (1,)


walk = LIBRARY.kernel("walk", tables=2)
"""`walk(piece, walk)`: return the price of the best plan. The sum of all prices must be below 2^33."""


class Cliques(NamedTuple):
    """The search for cliques of buffers that violate the current solution; `saved` has the units that each pair saves.

    pair[u, v] is 0 if the two buffers may meet without a price, -1 if they must not meet, and else the number of their
    pair plus 1. The kernel fills `found` with cliques of more than `least` excess units, each preceded by its size.
    """

    size: I64  # (n,)
    capacity: int
    pair: Rows  # (n, n)
    saved: F64  # (k,)
    starts: int
    rounds: int
    seed: int
    least: float
    found: I64


class Packing(NamedTuple):
    """A linear program with `m` rows and `c` columns: maximize the gain, with the cost of each row within its price.

    A row may exceed its price if the gain pays for it. The entries first[j]:first[j + 1] of column j are rows and
    values. The kernel fills `level` with the column values and `dual` with the row values of the solution; `basis` is
    scratch space.
    """

    price: F64  # (m,)
    gain: F64  # (c,)
    first: I64  # (c + 1,)
    row: I64
    value: F64
    basis: I64  # (m,)
    level: F64  # (c,)
    dual: F64  # (m,)
    most_pivots: int
    flag: I64  # (1,)


find_cliques = LIBRARY.kernel("find_cliques", tables=1)
"""`find_cliques(cliques)`: fill `found`, and return the number of cliques."""
pack_prices = LIBRARY.kernel("pack_prices", tables=1)
"""`pack_prices(packing)`: solve the linear program, and return the number of pivots."""
