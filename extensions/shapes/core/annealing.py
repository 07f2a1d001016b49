"""The table of the search of one order that is good at several values; annealing.cpp."""

from __future__ import annotations

from typing import NamedTuple

from memplan.extensions.shapes.core import LIBRARY
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import Rows


class Stacking(NamedTuple):
    """The search's input: `n` buffers at `k` values; buffer b is in sets[first[b]:first[b + 1]], at or above least[b].

    `order` becomes the best one that was met in all moves. A move may be worse by `heat` in the beginning;
    `random[0]` is the state of a random sequence, not 0.
    """

    first: I64  # (n + 1,)
    sets: I64
    size: Rows  # (n, k)
    least: Rows  # (n, k)
    bound: I64  # (k,), none is 0
    order: I64  # (n,)
    random: I64  # (1,)
    live_sets: int
    moves: int
    heat: float


anneal = LIBRARY.kernel("anneal", tables=1)
"""`anneal(task)`: improve the largest ratio of peak to bound, then the mean; return the moves made."""
