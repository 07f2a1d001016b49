"""Tables for the kernels that search for the least price and cheaper plans of pieces; the C++ files are here, too."""

from __future__ import annotations

from typing import NamedTuple

from memplan.extensions.prices.core import LIBRARY
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import F64, Rows

NEVER = -1
"""The price of a pair that must not meet."""


class PieceTable(NamedTuple):
    """A piece: `n` buffers of one pool, `r` reserved ranges, and `e` entries, two for each pair; offsets in units.

    Buffer v starts at lowest[v] + k * step[v] up to highest[v], at which it ends inside the pool. Entries
    first[v]:first[v + 1] name the others: they meet where fewer than `gap` units lie between them or, where `grid` is
    above 1, where they touch a common stretch of it, which begin where (o + shift) % grid == 0.
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
    """A search for a plan cheaper than `upper`, for a piece of few buffers.

    `at` is filled with the best plan, `counts` with (nodes, a price that no plan is below, its price or `upper`).
    """

    upper: int
    most_nodes: int
    at: I64  # (n,)
    counts: I64  # (3,)
    flag: I64  # (1,)


least_price = LIBRARY.kernel("least_price", tables=2)
"""`least_price(piece, run)`: return 1, or 0 if stopped by the node limit or flag[0]."""


STOPPED = -2


class Orders(NamedTuple):
    """A search over the orders of `k` priced pairs for a plan cheaper than `upper`; one at `least` ends it.

    The pairs that meet differ in at least distance[q] from those where known[q] is 1. Buffer v lies no lower than
    twin[v], unless that is -1. A plan costs at least (base + the sum of charge over the pairs that meet) / scale.
    `at` is filled with the best plan, `counts` with (nodes, its price or `upper`).
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
    """A random walk at one heat, in prices, from the plan `at`, until the best plan costs at most `goal`.

    `at` is changed in place and `best` is the best plan so far. `numbers` are the state of a random sequence, not 0,
    and the prices of the two plans.
    """

    at: I64  # (n,)
    best: I64  # (n,)
    numbers: I64  # (3,)
    heat: float
    steps: int
    goal: int
    flag: I64  # (1,)


walk = LIBRARY.kernel("walk", tables=2)
"""`walk(piece, walk)`: return the price of the best plan; the sum of all prices must be below 2^33."""


class Cliques(NamedTuple):
    """A search for cliques of buffers; `saved` has the units already saved by each of `k` pairs.

    pair[u, v] is 0 where two may meet for nothing, -1 where they must not, else the number of their pair plus 1.
    `found` is filled with cliques, each after the number of its members, that have more than `least` units too many.
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
    """A linear program of `m` rows and `c` columns: maximise the gain with each row's cost within its price.

    Whatever a row costs more is paid out of the gain. Entries first[j]:first[j + 1] of column j are rows and values.
    `level` is filled with the columns', `dual` with the rows' part of the best plan; `basis` is room.
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
"""`find_cliques(cliques)`: return the number of cliques found."""
pack_prices = LIBRARY.kernel("pack_prices", tables=1)
"""`pack_prices(packing)`: return the number of pivots."""
