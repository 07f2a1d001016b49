"""The tables of the choice of memories: multipliers, and the cheapest choice; see multipliers.hpp and cheapest.hpp."""

from __future__ import annotations

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import CORE, Rows

FUNCTIONS = 6
"""The most measures besides the units of each pool."""


class ChoiceItems(NamedTuple):
    """The `k` items, each for one of `p` pools, their `n` buffers, and the buffers' lifetimes in `rows` rows."""

    rows: int
    item: I64  # (n,)
    homes: Rows  # (p, k), 0: not there
    price: Rows  # (p, k), in steps
    size: Rows  # (p, n)
    lifetime_buffer: I64  # (m,)
    start: I64
    end: I64


class MultiplierTable(NamedTuple):
    """The worth of a unit of measure `r` in row `t`, worth[r, t], as multiples of 1 / `scale` of a cost step.

    Measure `r` concerns pool[r], in which buffer `i` counts size[r, i]. The first ones are the units of each pool;
    the others are dual feasible functions that hold for rows of at most `until` units, and have `capacity` there.
    """

    pool: I64
    size: Rows  # (r, n)
    until: I64
    capacity: I64
    worth: Rows  # (r, rows)
    scale: int


class Bounding(NamedTuple):
    """The task of finding multipliers: limits of rows, and the pool `goal` whose load to bound (ABSENT: the cost).

    Functions of sizes are made for the limits `measured`, none where it has no rows. From `found` on, the kernel
    fills: the rows of multipliers, with room for p + FUNCTIONS measures, and (their number, their scale).
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
    """The task of finding a choice: limits of rows, no-goods, the most cost, and the most partial choices.

    Items nogood_item[nogood_first[g]:nogood_first[g + 1]] are not all in pool nogood_pool[g]. From `home` on, the
    kernel fills: a pool for each item, and (1 where one is found, its cost, the bound on any, the work).
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
    """A table of amounts."""

    amounts: Rows


find_multipliers = CORE.kernel("find_multipliers", tables=2)
"""`find_multipliers(items, task)`: fill the task with multipliers for a large bound. Raises MemoryError."""
choice_value = CORE.kernel("choice_value", tables=3)
"""`choice_value(items, multipliers, limit)`: return a bound on the cost within limits, in parts of a step."""
choice_prices = CORE.kernel("choice_prices", tables=3)
"""`choice_prices(items, multipliers, prices)`: fill in each item's price in each pool, with the worth of its bytes."""
cheapest_choice = CORE.kernel("cheapest_choice", tables=3)
"""`cheapest_choice(items, multipliers, task)`: fill the task with the cheapest choice. Raises MemoryError."""
least_choice = CORE.kernel("least_choice", tables=3)
"""`least_choice(items, multipliers, task)`: fill the answer's bound on the cost of all choices. Raises MemoryError."""
