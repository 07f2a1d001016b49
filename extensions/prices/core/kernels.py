"""The tables of the kernels that search pieces for the least price and for cheaper plans, written in C++ here."""

from __future__ import annotations

from typing import NamedTuple

from memplan.extensions.prices.core import LIBRARY
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import F64, Rows

NEVER = -1
"""The marker in place of a price, for a pair that must not meet."""


class PieceTable(NamedTuple):
    """A piece: `n` buffers of one pool, `r` reserved ranges, and `e` entries, two for each pair; offsets are in units.

    Buffer v may start at lowest[v] + k * step[v], up to highest[v], the last start within the pool. The entries
    first[v]:first[v + 1] are its pairs. A pair meets if fewer than `gap` units are between its buffers or, if its
    `grid` is above 1, if both buffers touch one cell of the grid. Cells begin at offsets o with
    (o + shift) % grid == 0.
    """

    size: I64  # (n,): size of each buffer, in units
    lowest: I64  # (n,): lowest start of each buffer, in units
    highest: I64  # (n,): highest start of each buffer, in units
    step: I64  # (n,): distance between the possible starts of each buffer, in units
    first: I64  # (n + 1,): start of each buffer's entries, then the end of the last buffer's entries
    other: I64  # (e,): other buffer of each entry's pair
    price: I64  # (e,): price of each entry's pair, or NEVER if the pair must not meet
    grid: I64  # (e,): size of the grid cells that each entry's pair must not share, in units
    gap: I64  # (e,): distance in units below which each entry's pair meets
    reserved: Rows  # (r, 2): start and end of each reserved range, in units; the ranges are ascending and disjoint
    shift: int


MOST_BUFFERS = 64


class LeastPrice(NamedTuple):
    """The input and output of the exact search for a plan cheaper than `upper`, for a piece with few buffers.

    The kernel writes the starts of the best plan into `at`, and three numbers into `counts`: nodes, lower bound on the
    price, and the best price or `upper`.
    """

    upper: int
    most_nodes: int
    at: I64  # (n,): output, the start of each buffer in the best plan
    counts: I64  # (3,): output, number of nodes, lower bound on the price, and best price or `upper`
    flag: I64  # (1,): flag that another thread sets to stop the search


least_price = LIBRARY.kernel("least_price", tables=2)
"""`least_price(piece, run)`: search exactly; return 1 if complete, 0 if the node limit or flag[0] ended the search."""


STOPPED = -2


class Orders(NamedTuple):
    """The input and output of a search for a plan cheaper than `upper`, by branching on the orders of `k` priced pairs.

    The search ends at a price of `least`. The set of pairs that meet must differ from the set known[q] in at least
    distance[q] pairs. Buffer v must not be below buffer twin[v], unless that is -1. Each plan costs at least (base +
    sum of the charges of pairs that meet) / scale. The kernel writes the best plan into `at`, and two numbers into
    `counts`: nodes, and the best price or `upper`.
    """

    known: Rows  # (m, k): known sets of pairs that meet, one set per row and one pair per column
    distance: I64  # (m,): minimum number of pairs by which the set must differ from each known set
    twin: I64  # (n,): buffer that each buffer must not be below, or -1 if there is none
    guide: I64  # (n,): start of each buffer in a guiding plan; its order of each pair is tried first
    charge: I64  # (k,): amount that each pair adds to the lower bound if it meets
    base: int
    scale: int
    least: int
    upper: int
    most_nodes: int
    at: I64  # (n,): output, the start of each buffer in the best plan
    counts: I64  # (2,): output, number of nodes, and best price or `upper`
    flag: I64  # (1,): flag that another thread sets to stop the search


least_orders = LIBRARY.kernel("least_orders", tables=2)
"""`least_orders(piece, orders)`: return the least price, -1 if there is none, or STOPPED by the limit or flag[0]."""


class Walk(NamedTuple):
    """A walk (annealing) at the temperature `heat`, in units of price, from plan `at` until the best price is `goal`.

    The kernel updates `at` and `best`, the best plan so far. `numbers` has the random state (not 0), and the prices of
    these two plans.
    """

    at: I64  # (n,): start of each buffer in the present plan
    best: I64  # (n,): start of each buffer in the best plan so far
    numbers: I64  # (3,): random state, which is not 0, then the prices of the present plan and of the best plan
    heat: float
    steps: int
    goal: int
    flag: I64  # (1,): flag that another thread sets to stop the walk


walk = LIBRARY.kernel("walk", tables=2)
"""`walk(piece, walk)`: return the price of the best plan; the sum of all prices must be below 2^33."""


class Cliques(NamedTuple):
    """A search for cliques of buffers that violate the current solution; `saved` has the units that each pair saves.

    pair[u, v] is 0 if the two buffers may meet without a price, -1 if they must not meet, and else the number of their
    pair plus 1. The kernel writes cliques of more than `least` excess units into `found`, each one preceded by its
    size.
    """

    size: I64  # (n,): size of each buffer, in units
    capacity: int
    pair: Rows  # (n, n): number of each priced pair plus 1; 0 if the pair may meet without a price, -1 if it must not
    saved: F64  # (k,): units that each pair saves in the current solution
    starts: int
    rounds: int
    seed: int
    least: float
    found: I64


class Packing(NamedTuple):
    """A linear program with `m` rows and `c` columns: maximise the gain while the cost of each row is within its price.

    A row may exceed its price if the gain pays for the excess. The entries first[j]:first[j + 1] of column j are rows
    and values. The kernel writes the column values of the solution into `level`, and the row values into `dual`;
    `basis` is scratch space.
    """

    price: F64  # (m,): price of each row
    gain: F64  # (c,): gain of each column
    first: I64  # (c + 1,): start of each column's entries, then the end of the last column's entries
    row: I64
    value: F64
    basis: I64  # (m,): scratch space with one entry per row
    level: F64  # (c,): output, the value of each column in the solution
    dual: F64  # (m,): output, the value of each row in the solution
    most_pivots: int
    flag: I64  # (1,): flag that another thread sets to stop the solver


find_cliques = LIBRARY.kernel("find_cliques", tables=1)
"""`find_cliques(cliques)`: write cliques into `found`, and return their number."""
pack_prices = LIBRARY.kernel("pack_prices", tables=1)
"""`pack_prices(packing)`: solve the linear program, and return the number of pivots that this took."""
