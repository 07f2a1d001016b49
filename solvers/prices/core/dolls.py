"""The least price on few places, by Russian dolls; dolls.cpp."""

from __future__ import annotations

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.prices.core import LIBRARY

NONE_BELOW, STOPPED = -1, -2


class Dolls(NamedTuple):
    """A search for plans that cost less than `upper`, all starts at some of `m` places; entries have no grid or gap.

    Buffers are placed in an order; twin[r] is the position in it of an earlier one that can be exchanged with the one
    at r, or -1. With `is_colours` all places are alike; with `is_mirrored` a plan turned upside down is one as well.
    `at` is filled with the best plan, `counts` with (nodes, a price that no plan is below).
    """

    place: I64  # (m,), ascending
    order: I64  # (n,)
    twin: I64  # (n,)
    is_colours: bool
    is_mirrored: bool
    upper: int
    most_nodes: int
    at: I64  # (n,)
    counts: I64  # (2,)
    flag: I64  # (1,)


open_dolls = LIBRARY.kernel("open_dolls", tables=2)
"""`open_dolls(piece, dolls)`: return the least price, NONE_BELOW, or STOPPED by the limit of nodes or by flag[0]."""
