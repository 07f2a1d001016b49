"""The table of a graph with access maps, and the columns of the regions found; access.hpp."""

from __future__ import annotations

from typing import NamedTuple

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
    """A graph: operations in order, tensors, and an edge for each tensor that an operation reads.

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
    live: I64  # (ops + 1,): bytes of tensors made before, with a use at or behind
    alignment: int
