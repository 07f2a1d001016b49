"""The tables of the kernels that choose pools by multipliers; see multipliers.hpp and cheapest.hpp."""

from __future__ import annotations

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import CORE, Rows

FUNCTIONS = 6
"""The most measures besides the units of each pool."""


class ChoiceItems(NamedTuple):
    """The `k` items that each need one of `p` pools, their `n` buffers, and the buffers' lifetimes in `rows` rows."""

    rows: int
    item: I64  # (n,)
    homes: Rows  # (p, k), 0: not allowed
    price: Rows  # (p, k), in steps
    size: Rows  # (p, n)
    lifetime_buffer: I64  # (m,)
    start: I64
    end: I64


class MultiplierTable(NamedTuple):
    """Multipliers: worth[r, t] is the worth of a unit of measure `r` in row `t`, in multiples of 1 / `scale` cost
    steps.

    Measure `r` concerns pool[r], in which buffer `i` counts size[r, i]. The first measures are the units of each pool;
    the others are dual feasible functions, which hold for rows of at most `until` units, with capacity `capacity`.
    """

    pool: I64
    size: Rows  # (r, n)
    until: I64
    capacity: I64
    worth: Rows  # (r, rows)
    scale: int


class Bounding(NamedTuple):
    """The task of finding multipliers: limits of rows, and the pool `goal` whose load to bound (ABSENT: the cost).

    Dual feasible functions are made for the limits `measured`, unless that has no rows. The kernel fills the fields
    from `pool` on: the rows of multipliers, with space for p + FUNCTIONS measures, and `answer`, (their number, their
    scale).
    """

    limit: Rows  # (p, rows)
    measured: Rows  # (p, rows) or (0, rows)
    goal: int
    guess: float
    rounds: int
    flag: I64  # (1,)
    pool: I64
    size: Rows
    until: I64
    capacity: I64
    worth: Rows
    answer: I64  # (2,)


class ChoiceTask(NamedTuple):
    """The task of finding a choice of pools: limits of rows, no-goods, the largest cost, and the most partial choices.

    Items nogood_item[nogood_first[g]:nogood_first[g + 1]] must not all be in pool nogood_pool[g]. The kernel fills
    `home`, a pool for each item, and `answer`: (1 if a choice was found, its cost, the bound on every choice, the
    work).
    """

    limit: Rows  # (p, rows)
    nogood_pool: I64
    nogood_first: I64
    nogood_item: I64
    at_most: int
    partials: int
    kept: int
    flag: I64  # (1,)
    home: I64  # (k,)
    answer: I64  # (4,)


class Amounts(NamedTuple):
    """A table of amounts, as a parameter of kernels."""

    amounts: Rows


find_multipliers = CORE.kernel("find_multipliers", tables=2)
"""`find_multipliers(items, task)`: fill the task with multipliers that give a large bound. Raises MemoryError."""
choice_value = CORE.kernel("choice_value", tables=3)
"""`choice_value(items, multipliers, limit)`: return a lower bound on the cost within limits, in parts of a step."""
choice_prices = CORE.kernel("choice_prices", tables=3)
"""`choice_prices(items, multipliers, prices)`: fill in the price of each item in each pool, with its bytes' worth."""
cheapest_choice = CORE.kernel("cheapest_choice", tables=3)
"""`cheapest_choice(items, multipliers, task)`: fill the task with the cheapest choice. Raises MemoryError."""
least_choice = CORE.kernel("least_choice", tables=3)
"""`least_choice(items, multipliers, task)`: fill in a lower bound on the cost of all choices. Raises MemoryError."""
