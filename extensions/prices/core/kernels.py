"""Tables for the kernels that search pieces for the least price and for cheaper plans; the C++ files are here, too."""

from __future__ import annotations

from typing import NamedTuple

from memplan.extensions.prices.core import LIBRARY
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import F64, Rows

NEVER = -1
"""The price of pairs that must not meet."""


class PieceTable(NamedTuple):
    """A piece: `n` buffers of one pool, `r` reserved ranges, and `e` entries, two for each pair; offsets in units.

    Buffer v starts at lowest[v] + k * step[v], at most at highest[v], where it ends at the end of the pool. The entries
    first[v]:first[v + 1] are its pairs. A pair meets if fewer than `gap` units are between its buffers or, if `grid` is
    above 1, if both touch a common cell of the grid. Cells begin at offsets o where (o + shift) % grid == 0.
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

    The kernel fills `at` with the best plan, and `counts` with (nodes, lower bound of all prices, price or `upper`).
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
    """A search over the orders of `k` priced pairs for a plan cheaper than `upper`, which ends at a price of `least`.

    The pairs that meet must differ in at least distance[q] from the pairs where known[q] is 1. Buffer v is not below
    buffer twin[v], unless that is -1. A plan costs at least (base + the sum of charge over the pairs that meet) /
    scale. The kernel fills `at` with the best plan, and `counts` with (nodes, price or `upper`).
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
    """A random walk at one heat, in units of price, from the plan `at`, until the best plan costs at most `goal`.

    The kernel changes `at` and `best`, the best plan so far. `numbers` are the state of a random sequence (not 0), and
    the prices of the two plans.
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
    """A search for cliques of buffers; `saved` has the units that each of `k` pairs already saves.

    pair[u, v] is 0 if the two may meet at no price, -1 if they must not meet, and else the number of their pair plus 1.
    The kernel fills `found` with cliques of more than `least` excess units, each preceded by the number of its members.
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
    """A linear program of `m` rows and `c` columns: maximise the gain, with the cost of each row within its price.

    A row may cost more if the gain pays for it. Entries first[j]:first[j + 1] of column j are rows and values. The
    kernel fills `level` with the solution of the columns, and `dual` with that of the rows; `basis` is scratch.
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
