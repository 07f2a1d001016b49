"""A cheaper plan by annealed ejection; walk.hpp."""

from __future__ import annotations

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.prices.core import LIBRARY


class Walk(NamedTuple):
    """A walk of so many steps at one heat, in prices, from the plan `at`, until the best one costs `goal`.

    `at` is changed in place and `best` is the best plan so far. `numbers` are the state of a random sequence, not 0,
    and the prices of the two plans.
    """

    at: I64  # (n,)
    best: I64  # (n,)
    numbers: I64  # (3,)
    heat: float
    steps: int
    goal: int
    flag: I64  # (1,)


walk = LIBRARY.kernel("walk", tables=2)
"""`walk(piece, walk)`: return the price of the best plan, whose sum with all others must be below 2^33."""
