"""Tables for the compiled kernels that find regions and sequences of regions; the C++ files are in this folder."""

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
"""The kinds of regions.

`KIND_THIN` are panels that recompute a tensor of many channels, computed pixel by pixel from a rolling tensor of few.
`KIND_PIECES` are rows computed piece by piece: rows roll, and so do columns inside each row. In `KIND_AGAIN`, each step
recomputes all rows that it reads; in `KIND_ROWS`, these rows roll (are kept from step to step).
"""


class Access(NamedTuple):
    """A graph as arrays: operations in order, tensors, and an edge for each tensor that an operation reads.

    The edges are sorted by operation. The sizes of buffers are rounded up to the alignment.
    """

    role: I64  # (ops,): STRIPED, SUM or BARRIER
    out: I64  # (ops,): the tensor that the operation writes
    macs: I64  # (ops,): per output pixel, or in total if the operation is not striped
    weights: I64  # (ops,)
    sums: I64  # (ops,): bytes of a sum while it is accumulated, rounded
    edge_first: I64  # (ops + 1,)
    source: I64  # (edges,): the tensor read
    reader: I64  # (edges,): the operation that reads
    window: Rows  # (edges, 12): scale, divisor, low, high, and range of reading outputs, for rows and columns
    size: Rows  # (tensors, 2): rows, columns
    pixel: I64  # (tensors,)
    whole: I64  # (tensors,): bytes of the tensor, rounded
    maker: I64  # (tensors,): -1 for an input
    last: I64  # (tensors,): the last reader, or the number of operations for a kept tensor
    is_streamed: I64  # (tensors,): 1 for an input that is delivered, or an output that is fetched, in pieces
    reader_first: I64  # (tensors + 1,)
    reading: I64  # (edges,): the edges that read each tensor, ascending
    live: I64  # (ops + 1,): bytes of tensors written before the operation and used at or after it
    alignment: int


COUNT, LOST, EVALUATED = range(3)


class TileSearch(NamedTuple):
    """A search for tiled regions that end with operation `j - 1`, and the table of the regions found.

    A height or width of -n means one n-th of a row or column, for tensors that roll along that axis.
    """

    j: int
    longest: int  # maximum number of operations of a region
    kind: int  # KIND_ROWS, KIND_AGAIN, KIND_TILES, KIND_PANELS, KIND_THIN or KIND_PIECES
    slides: bool  # outputs in whole rows may grow into dying inputs
    warm_up: int  # rows or columns
    worst: float
    heights: I64
    widths: I64
    found: Rows  # (f, 10): output; answer[COUNT] rows are filled
    answer: I64  # (3,): incremented


class RegionTrace(NamedTuple):
    """The output table of `follow_region`: the steps of one region of l operations, for one tile size.

    Operations are counted backwards from the last one, and edges from the last edge of operation j - 1. Ranges have a
    slot for each operation, then one for each input that is delivered in pieces, in reverse order, each with all steps.
    """

    row_first: Rows  # (slots, steps)
    row_end: Rows
    column_first: Rows  # (slots, steps)
    column_end: Rows
    capacity: Rows  # (2, l): rows, then columns, in buffers; negative for tensors kept between steps
    piece: Rows  # (2, e): rows and columns of inputs in pieces, at the first edge that reads each
    widens: I64  # (l,): 1 for an operation that computes wider pixels from single ones
    slide: I64  # (3,): bytes saved by sliding, the input that the output overwrites, the distance below it
    answer: I64  # (2,): steps along rows and columns


grow_tiles = LIBRARY.kernel("grow_tiles", tables=2)
"""`grow_tiles(access, search)`: write all tiled regions that end with operation j - 1; return their number."""
follow_region = LIBRARY.kernel("follow_region", tables=3)
"""`follow_region(access, search, followed)`: trace the longest region of one tile size; return its length."""


class Chains(NamedTuple):
    """Regions sorted by end, a limit on the peak, and the best chain (sequence) of regions up to each cut position."""

    limit: int
    found: Rows  # (f, 10)
    macs: I64  # (ops + 1,): -1 if no chain reaches the cut
    slides: I64  # (ops + 1,): the number of regions that need sliding to meet the limit
    traffic: I64  # (ops + 1,)
    by: I64  # (ops + 1,): the last region of the best chain


class Staircase(NamedTuple):
    """Costs for three objectives, sorted within each group, for `undominated_of_three`."""

    costs: Rows  # (f, 3), sorted within each group
    group: I64  # (f,): equal for costs that are compared with each other, which are contiguous
    kept: I64  # (f,): output, the positions of the undominated costs


undominated_of_three = LIBRARY.kernel("undominated_of_three", tables=1)
"""`undominated_of_three(staircase)`: write the positions of the costs that no cost of their group dominates.

Returns their number. Of equal costs, the first one is kept.
"""
best_chain = LIBRARY.kernel("best_chain", tables=1)
"""`best_chain(chains)`: find the chain within the limit with the fewest multiplications, then the lowest peak.

Ties are broken by the fewest slides, then by the least traffic. Returns the peak in bytes, or -1 if there is no chain.
"""
