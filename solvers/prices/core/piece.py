"""The table of buffers whose pairs cost something where they meet; piece.hpp."""

from __future__ import annotations

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import Rows

NEVER = -1
"""The price of a pair that must not meet."""


class PieceTable(NamedTuple):
    """`n` buffers of one pool, `r` reserved ranges, and `e` entries, two for each pair; all offsets in units.

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
    price: I64  # (e,), NEVER for those that must not meet
    grid: I64  # (e,)
    gap: I64  # (e,)
    reserved: Rows  # (r, 2), ascending and disjoint
    shift: int
