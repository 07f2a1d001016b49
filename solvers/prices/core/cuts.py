"""Cuts from cliques that are larger than their pool, and how much they say together; cuts.cpp."""

from __future__ import annotations

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import F64, Rows
from memplan.solvers.prices.core import LIBRARY


class Cliques(NamedTuple):
    """A search for cliques of buffers: `saved` are the units that each of `k` pairs is taken to save already.

    pair[u, v] is 0 where two may meet for nothing, -1 where they must not, else the number of their pair plus 1.
    `found` is filled with cliques, each after the number of its members, that have more than `least` units too many.
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
    """A linear program of `m` rows and `c` columns: the most gain for which no row costs more than its price.

    Whatever a row costs more is paid out of the gain. Entries first[j]:first[j + 1] of column j are rows and values.
    `level` is filled with the columns', `dual` with the rows' part of the best plan; `basis` is room.
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
"""`find_cliques(cliques)`: return how many were found."""
pack_prices = LIBRARY.kernel("pack_prices", tables=1)
"""`pack_prices(packing)`: return the number of pivots."""
