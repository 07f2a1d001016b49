"""The tables of kernels that choose pools by Lagrange multipliers; see multipliers.hpp and cheapest.hpp."""

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import CORE, Rows

FUNCTIONS = 6
"""The limit of measures in addition to the units of each pool."""


class ChoiceItems(NamedTuple):
    """The task of assigning `k` items to `p` pools; an item is a set of buffers that must share a pool.

    There are `n` buffers. Each lifetime is a range of rows, and each row represents one live set.
    """

    rows: int
    item: I64  # (n,): number of the item of each buffer
    homes: Rows  # (p, k): for each pool and item, 0 if the item must not be in the pool
    price: Rows  # (p, k): price of each item in each pool, in steps
    size: Rows  # (p, n): size of each buffer in each pool, in units
    lifetime_buffer: I64  # (m,): number of the buffer of each lifetime
    start: I64
    end: I64


class MultiplierTable(NamedTuple):
    """Lagrange multipliers: worth[r, t] is the price of one unit of measure `r` in row `t`, in 1 / `scale` cost steps.

    A measure is a kind of size: measure `r` counts size[r, i] for buffer `i` in pool[r]. A row is a live set. The first
    `p` measures are the units of each pool. All others are dual feasible functions of the sizes, valid for rows of at
    most `until` units and for `capacity`.
    """

    pool: I64
    size: Rows  # (r, n): weight of each buffer by each measure
    until: I64
    capacity: I64
    worth: Rows  # (r, rows): price of one unit of each measure in each row
    scale: int


class Bounding(NamedTuple):
    """The task of finding multipliers that give a high lower bound: on the load of pool `goal`, or on the cost.

    The cost is bounded if `goal` is ABSENT. Only plans within the row limits count. Dual feasible functions of the
    sizes are derived from the limits `measured`, unless that array has no rows. The kernel fills the fields from `pool`
    on with the multipliers; these arrays have space for p + FUNCTIONS measures. `answer` receives (number of measures,
    scale).
    """

    limit: Rows  # (p, rows): limit of each pool in each row, in units
    measured: Rows  # (p, rows) or (0, rows): limits from which dual feasible functions are derived
    goal: int
    guess: float
    rounds: int
    flag: I64  # (1,): flag that stops the kernel once it is not 0
    pool: I64
    size: Rows
    until: I64
    capacity: I64
    worth: Rows
    answer: I64  # (2,): number of measures, then the scale of the multipliers


class ChoiceTask(NamedTuple):
    """The task of choosing a pool for each item, subject to row limits, no-goods, a cost limit and a work limit.

    A no-good is a set of items that do not fit into one pool together: for each no-good g, the items
    nogood_item[nogood_first[g]:nogood_first[g + 1]] must not all be in pool nogood_pool[g]. `at_most` is the largest
    allowed cost, and `partials` the largest number of partial choices. The kernel fills `home`, the pool of each item,
    and `answer`: (1 if a choice was found, its cost, the bound on every choice, the work).
    """

    limit: Rows  # (p, rows): limit of each pool in each row, in units
    nogood_pool: I64
    nogood_first: I64
    nogood_item: I64
    at_most: int
    partials: int
    kept: int
    flag: I64  # (1,): flag that stops the kernel once it is not 0
    home: I64  # (k,): pool chosen for each item
    answer: I64  # (4,): 1 if a choice was found, else 0; cost of the choice; bound on all choices; work done


class RefitTask(NamedTuple):
    """The task of changing the choice `home` until its loads are within the limits and no item moves cheaper."""

    limit: Rows  # (p, rows): limit of each pool in each row, in units
    tries: int  # how many times a cheaper choice near it is tried
    flag: I64  # (1,): flag that stops the kernel once it is not 0
    home: I64  # (k,): pool of each item


class Amounts(NamedTuple):
    """A two-dimensional array of integers, wrapped in a table because kernels accept only tables."""

    amounts: Rows


find_multipliers = CORE.kernel("find_multipliers", tables=2)
"""`find_multipliers(items, task)`: fill the task with multipliers that give a high bound. Raises MemoryError."""
choice_value = CORE.kernel("choice_value", tables=3)
"""`choice_value(items, multipliers, limit)`: return a lower bound on the cost, in 1 / scale of a cost step."""
choice_prices = CORE.kernel("choice_prices", tables=3)
"""`choice_prices(items, multipliers, prices)`: fill `prices` with each item's cost plus the price of its bytes."""
cheapest_choice = CORE.kernel("cheapest_choice", tables=3)
"""`cheapest_choice(items, multipliers, task)`: fill the task with the cheapest choice. Raises MemoryError."""
least_choice = CORE.kernel("least_choice", tables=3)
"""`least_choice(items, multipliers, task)`: fill `task` with a lower bound on every choice. Raises MemoryError."""
refit_choice = CORE.kernel("refit_choice", tables=2)
"""`refit_choice(items, task)`: change the task's choice; return 1, or 0 if it stays too large. Raises MemoryError."""
