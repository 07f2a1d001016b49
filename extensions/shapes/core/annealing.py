"""The input of the kernel in annealing.cpp, which searches for a stacking order that is good at several values."""

from typing import NamedTuple

from memplan.extensions.shapes.core import LIBRARY
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import Rows


class Stacking(NamedTuple):
    """The input of the search for a stacking order: `n` buffers, and their sizes at `k` symbol values.

    Buffer b is in the live sets `sets[first[b]:first[b + 1]]`, at offset `least[b]` or above. The search replaces
    `order` by the best order found. `heat` is the initial temperature: the increase of the result that one move may
    cause. `random[0]` is the seed, which must not be 0.
    """

    first: I64  # (n + 1,): start of each buffer's live sets in `sets`, then the end of the last buffer's live sets
    sets: I64
    size: Rows  # (n, k): size of each buffer at each value of the symbols
    least: Rows  # (n, k): minimum offset of each buffer at each value of the symbols
    bound: I64  # (k,): lower bound on the peak at each value of the symbols, at least 1
    order: I64  # (n,): buffers in the order in which they are stacked; the kernel writes the best order here
    random: I64  # (1,): state of the random generator, initially the seed
    live_sets: int
    moves: int
    heat: float


anneal = LIBRARY.kernel("anneal", tables=1)
"""`anneal(task)`: minimise the largest ratio of peak to bound, then the mean ratio; return the number of moves made."""
