"""Tables for the kernels that find regions of cascades and chains of regions; the C++ files are in this folder."""

from __future__ import annotations

from typing import NamedTuple

from memplan.extensions.cascade.core import LIBRARY
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import Rows

STRIPED, SUM, BARRIER = range(3)
N_WINDOW = 6
FOUND_FROM, FOUND_TO, FOUND_PEAK, FOUND_MACS, FOUND_TRAFFIC = 0, 1, 2, 3, 4
FOUND_RUNS, FOUND_KIND, FOUND_HEIGHT, FOUND_WIDTH, FOUND_SAVED = 5, 6, 7, 8, 9
N_FOUND = 10
KIND_WHOLE, KIND_ROWS, KIND_TILES, KIND_PANELS, KIND_CHANNELS, KIND_THIN, KIND_PIECES, KIND_AGAIN = range(8)
"""`KIND_THIN` are panels in which what one pixel widens is made again, so that the narrow tensor before it rolls.

`KIND_PIECES` are rows that are made piece by piece: rows roll, and columns inside each of them. In `KIND_AGAIN` each
step makes all rows that it reads, where in `KIND_ROWS` they roll.
"""


class Access(NamedTuple):
    """A graph: operations in order, tensors, and an edge for each tensor read by an operation.

    The edges are sorted by operation. Bytes are rounded up to the alignment where they are those of a buffer.
    """

    role: I64  # (ops,): STRIPED, SUM or BARRIER
    out: I64  # (ops,): the tensor that it makes
    macs: I64  # (ops,): for a pixel of the output; for all of it where it is not striped
    weights: I64  # (ops,)
    sums: I64  # (ops,): bytes of a sum while it is accumulated, rounded
    edge_first: I64  # (ops + 1,)
    source: I64  # (edges,): the tensor read
    reader: I64  # (edges,): the operation that reads
    window: Rows  # (edges, 12): scale, divisor, low, high, first and end that read anything, of rows and of columns
    size: Rows  # (tensors, 2): rows, columns
    pixel: I64  # (tensors,)
    whole: I64  # (tensors,): bytes of the tensor, rounded
    maker: I64  # (tensors,): -1 for an input
    last: I64  # (tensors,): the last reader; the number of operations for a kept one
    is_streamed: I64  # (tensors,): 1 for an input that is delivered, or an output that is taken, in pieces
    reader_first: I64  # (tensors + 1,)
    reading: I64  # (edges,): for each tensor the edges that read it, ascending
    live: I64  # (ops + 1,): bytes of tensors made before, with a use at or after
    alignment: int


COUNT, LOST, EVALUATED = range(3)


class TileSearch(NamedTuple):
    """A search for tiled regions that end with operation `j - 1`, and the regions found.

    A height or a width of -n is a part of n of one row or column, for what rolls along that axis.
    """

    j: int
    longest: int  # operations of a region
    kind: int  # KIND_ROWS, KIND_AGAIN, KIND_TILES, KIND_PANELS, KIND_THIN or KIND_PIECES
    slides: bool  # outputs in whole rows may grow into dying inputs
    warm_up: int  # rows or columns
    worst: float
    heights: I64
    widths: I64
    found: Rows  # (f, 10): added to, answer[COUNT] so far
    answer: I64  # (3,): added to


class RegionTrace(NamedTuple):
    """The longest region of l operations with tiles of the first height and width, step by step; an output table.

    The operations count from the last one backwards, the edges from the last edge of operation j - 1. Ranges have a
    slot for each operation, then one for each input that comes in pieces, the first one last, for all steps.
    """

    row_first: Rows  # (slots, steps)
    row_end: Rows
    column_first: Rows  # (slots, steps)
    column_end: Rows
    capacity: Rows  # (2, l): rows, then columns, that buffers hold; negative for tensors kept from step to step
    piece: Rows  # (2, e): rows and columns in buffers of inputs in pieces, at the first edge that reads them
    widens: I64  # (l,): 1 for an operation that makes wider pixels of single ones
    slide: I64  # (3,): bytes saved by sliding, the input that the output grows into, how far below it
    answer: I64  # (2,): steps along rows and columns


grow_tiles = LIBRARY.kernel("grow_tiles", tables=2)
"""`grow_tiles(access, search)`: write the regions in tiles that end with operation j - 1; return how many."""
follow_region = LIBRARY.kernel("follow_region", tables=3)
"""`follow_region(access, search, followed)`: compute the longest region for one height and width; return its length."""


class Chains(NamedTuple):
    """Regions by their ends, a limit on the peak, and the best chain to each cut."""

    limit: int
    found: Rows  # (f, 10)
    macs: I64  # (ops + 1,): -1 where no chain reaches the cut
    slides: I64  # (ops + 1,): regions that stay within the limit by sliding only
    traffic: I64  # (ops + 1,)
    by: I64  # (ops + 1,): the last region of the chain


class Staircase(NamedTuple):
    """Costs sorted by all three, group by group."""

    costs: Rows  # (f, 3), sorted within each group
    group: I64  # (f,): equal for costs that are compared, which are contiguous
    kept: I64  # (f,): filled with the positions of the costs that are kept


undominated_of_three = LIBRARY.kernel("undominated_of_three", tables=1)
"""`undominated_of_three(staircase)`: write the costs that no other in their group dominates.

Returns their number. Of equal ones it is the first.
"""
best_chain = LIBRARY.kernel("best_chain", tables=1)
"""`best_chain(chains)`: find the chain within the limit with the fewest multiplications, then the lowest peak.

Of several it is that with the fewest slides at that peak, then the least traffic. Returns the peak, -1 if none.
"""
