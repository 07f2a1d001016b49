"""Regions in tiles and in stripes of rows; tiles.cpp."""

from __future__ import annotations

from typing import NamedTuple

from memplan.capabilities.cascade.core import LIBRARY
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import Rows

COUNT, LOST, EVALUATED = range(3)


class TileSearch(NamedTuple):
    """One last operation `j - 1` with heights and widths of tiles, and the regions found with it.

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


class Followed(NamedTuple):
    """The longest region of l operations in tiles of the first height and width, step by step; all is filled.

    The operations count from the last one backwards, the edges from the last edge of operation j - 1. Ranges have a
    slot for each operation, then one for each input that comes in pieces, the first one last; there is room for as many
    steps as there are.
    """

    row_first: Rows  # (slots, steps)
    row_end: Rows
    column_first: Rows  # (slots, steps)
    column_end: Rows
    capacity: Rows  # (2, l): rows, then columns, that buffers hold; negative for what is kept from step to step
    piece: Rows  # (2, e): those that buffers of inputs in pieces hold, at the first edge that reads them
    widens: I64  # (l,): 1 for an operation that makes wider pixels of single ones
    slide: I64  # (3,): bytes saved by sliding, the input that the output grows into, how far below it
    answer: I64  # (2,): steps along rows and columns


grow_tiles = LIBRARY.kernel("grow_tiles", tables=2)
"""`grow_tiles(access, search)`: write the regions in tiles that end with operation j - 1; return how many."""
follow_region = LIBRARY.kernel("follow_region", tables=3)
"""`follow_region(access, search, followed)`: follow the longest region in one height and width; return its length."""
