"""The tables that pass data to the compiled kernels of the search for cascades; the C++ files are in this folder."""

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

`KIND_THIN` are column panels that recompute a tensor of many channels, pixel by pixel, from a rolling tensor of few
channels. `KIND_PIECES` are rows computed piece by piece, so that both rows and columns roll (are kept between steps).
In `KIND_AGAIN`, each step recomputes all rows that it reads. In `KIND_ROWS`, these rows roll.
"""


class Access(NamedTuple):
    """A graph as arrays: its operations in order, its tensors, and an edge for each input of an operation.

    The edges are sorted by operation, and buffer sizes are rounded up to the alignment.
    """

    role: I64  # (ops,): role of each operation: STRIPED, SUM or BARRIER
    out: I64  # (ops,): number of the tensor that each operation writes
    macs: I64  # (ops,): multiplications of a striped operation per output pixel, of any other operation in total
    weights: I64  # (ops,): bytes of each operation's weights
    sums: I64  # (ops,): bytes of each operation's sums while it accumulates them, rounded up to the alignment
    edge_first: I64  # (ops + 1,): start of each operation's edges, then the end of the last operation's edges
    source: I64  # (edges,): number of the tensor that each edge reads
    reader: I64  # (edges,): number of the operation that reads along each edge
    window: Rows  # (edges, 12): scale, divisor, low, high, and range of reading outputs, for rows, then columns
    size: Rows  # (tensors, 2): number of rows and number of columns of each tensor
    pixel: I64  # (tensors,): bytes of one pixel of each tensor
    whole: I64  # (tensors,): bytes of each whole tensor, rounded up to the alignment
    maker: I64  # (tensors,): number of the operation that writes each tensor, or -1 for an input of the graph
    last: I64  # (tensors,): number of each tensor's last reader; the number of operations for a tensor kept to the end
    is_streamed: I64  # (tensors,): 1 for an input that arrives in pieces or an output that leaves in pieces, else 0
    reader_first: I64  # (tensors + 1,): start of each tensor's entries in `reading`, then the end of the last entries
    reading: I64  # (edges,): numbers of the edges that read each tensor, ascending within each tensor
    live: I64  # (ops + 1,): bytes of the tensors written before each operation and needed by it or later
    alignment: int


COUNT, LOST, EVALUATED = range(3)


class TileSearch(NamedTuple):
    """A search for the tiled regions whose last operation is `j - 1`, and the output table of the regions found.

    A height or width of -n means one n-th of a row or column, for tensors that roll along that axis.
    """

    j: int
    longest: int  # A region has at most this number of operations.
    kind: int  # The kind of regions is KIND_ROWS, KIND_AGAIN, KIND_TILES, KIND_PANELS, KIND_THIN or KIND_PIECES.
    slides: bool  # If True, an output computed in whole rows may grow into the bytes of a dying input.
    warm_up: int  # A region computes this number of extra rows or columns in its first steps (warm-up).
    worst: float
    heights: I64
    widths: I64
    found: Rows  # (f, 10): output, one region per row; only the first answer[COUNT] rows are filled
    answer: I64  # (3,): counters COUNT, LOST and EVALUATED, which the kernel increments


class RegionTrace(NamedTuple):
    """The output table of `follow_region`: steps and buffers of one region of l operations, for one tile size.

    Operations are numbered backwards from the last one, and edges backwards from the last edge of operation j - 1. A
    slot is an operation or, after all operations, an input that arrives in pieces; it has the ranges of all steps.
    """

    row_first: Rows  # (slots, steps): first row of each slot's range in each step
    row_end: Rows
    column_first: Rows  # (slots, steps): first column of each slot's range in each step
    column_end: Rows
    capacity: Rows  # (2, l): rows, then columns, of each operation's buffer; negative if kept between steps
    piece: Rows  # (2, e): rows, then columns, of each input that arrives in pieces, at the first edge that reads it
    widens: I64  # (l,): 1 for each operation that computes wider pixels from single pixels, else 0
    slide: I64  # (3,): bytes that sliding saves, the input that the output overwrites, the output's distance below it
    answer: I64  # (2,): number of steps along rows, and number of steps along columns


grow_tiles = LIBRARY.kernel("grow_tiles", tables=2)
"""`grow_tiles(access, search)`: append the tiled regions that end with operation j - 1; return their number."""
follow_region = LIBRARY.kernel("follow_region", tables=3)
"""`follow_region(access, search, followed)`: trace the longest region of one tile size; return its operation count."""


class Chains(NamedTuple):
    """The table of `best_chain`: regions, a peak limit, and the best chain (sequence of regions) up to each cut."""

    limit: int
    found: Rows  # (f, 10): one region per row, sorted by the regions' ends
    macs: I64  # (ops + 1,): multiplications of the best chain to each cut, or -1 if no chain reaches the cut
    slides: I64  # (ops + 1,): number of slides that the best chain to each cut needs to stay within the limit
    traffic: I64  # (ops + 1,): bytes that the best chain to each cut moves
    by: I64  # (ops + 1,): row in `found` of the last region of the best chain to each cut


class Staircase(NamedTuple):
    """The table of `undominated_of_three`: candidates with three costs each, of which only the undominated are kept."""

    costs: Rows  # (f, 3): three costs of each candidate, sorted within each group
    group: I64  # (f,): group of each candidate; groups are contiguous, and only candidates of one group are compared
    kept: I64  # (f,): output, positions of the costs that no other cost of their group dominates


undominated_of_three = LIBRARY.kernel("undominated_of_three", tables=1)
"""`undominated_of_three(staircase)`: write the positions of costs that no other cost in their group dominates.

Return the number of positions. Of equal costs, the first one is kept.
"""
best_chain = LIBRARY.kernel("best_chain", tables=1)
"""`best_chain(chains)`: find the chain with the fewest multiplications, then the lowest peak, within the peak limit.

Ties: fewest slides (growth into dying inputs), then least traffic. Return the peak in bytes, -1 without a chain.
"""
