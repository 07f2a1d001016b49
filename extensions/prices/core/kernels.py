"""The input and output tables of the C++ kernels in this folder, which search a piece for cheaper plans and bounds."""

from typing import NamedTuple

from memplan.extensions.prices.core import LIBRARY
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import F64, Rows

NEVER = -1
"""The marker in place of a price, for a pair that must not meet."""


class PieceTable(NamedTuple):
    """A piece (an independent part of a pool): `n` buffers, `r` reserved ranges, and `e` entries, two for each pair.

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

    The kernel writes the buffers' starts in the best plan to `at`. It writes three numbers to `counts`: the search
    nodes, a lower bound on the price, and the best price found (`upper` if none is lower).
    """

    upper: int
    most_nodes: int
    at: I64  # (n,): output, the start of each buffer in the best plan
    counts: I64  # (3,): output, number of nodes, lower bound on the price, and best price or `upper`
    flag: I64  # (1,): flag that another thread sets to stop the search


least_price = LIBRARY.kernel("least_price", tables=2)
"""`least_price(piece, run)`: search exactly; return 1 if complete, 0 if the node limit or flag[0] ended the search."""


class Walk(NamedTuple):
    """The input and output of a random walk (annealing) over plans of a piece at the temperature `heat`.

    The walk starts from the plan `at` and takes `steps` steps, unless the best price reaches `goal` before. The kernel
    updates both plans, `at` and `best`, and in `numbers` the random state and the prices of both plans.
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
    """The input and output of a search for cliques (sets of buffers) that the current fractional solution violates.

    A clique is violated if the units that its pairs save (`saved`) are fewer than its excess over `capacity`, by more
    than `least` units. The kernel writes such cliques to `found`, each preceded by its number of buffers.
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
    """A linear program with `m` rows and `c` columns: maximise the total gain of the columns within the rows' prices.

    The value of a row may exceed its price; the excess is subtracted from the gain. The entries first[j]:first[j + 1]
    in `row` and `value` are column j. The kernel writes the columns' values to `level`, and the rows' dual values
    to `dual`; `basis` is scratch space.
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
