"""Bounds on the choices of pools, and the cheapest choice, from kernels; see core/multipliers.hpp and cheapest.hpp."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from memplan.planner.instance.instance import F64, Bool
from memplan.planner.model.buffer_table import ABSENT, I64, column
from memplan.solvers.core import choice as core
from memplan.solvers.core.tables import Reference
from memplan.solvers.memory_choice.knapsack import Knapsack

_FINEST, _LARGEST_SUM = 2**40, 2.0**60
"""The finest scale of multipliers, and the limit of sums of scaled prices."""
NEVER = 2**62
"""The bound that means that no choice exists."""


class NoGood(NamedTuple):
    """A set of items that do not fit into a pool together, unless the pool has at least `need` units."""

    pool: int
    items: frozenset[int]
    need: int


class ChoiceEffort(NamedTuple):
    """The limits of a search for a choice: the most partial choices per row, and the most partial choices in memory.

    Bounds are raised in `parts` of the rows, with one thread for each.
    """

    partials: int = 50_000
    kept: int = 8_000_000
    parts: int = 1


class PoolChoice(NamedTuple):
    """The cheapest choice of pools that was found, as the pool of each item; None without a choice.

    No choice costs less than `bound` steps. `work` is the work of the search, in units of Search.work_limit.
    """

    home: I64 | None
    cost: int
    bound: int
    work: int = 0


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Lagrange multipliers: the price of capacity in each row (live set) and pool. Any prices give a valid bound."""

    table: Reference[core.MultiplierTable]

    @classmethod
    def from_prices(cls, knapsack: Knapsack, price: F64) -> "Multipliers":
        """Return multipliers close to the price, in steps, of a unit of each pool in each row (p, rows), as fine as
        sums of them allow.
        """
        charged = knapsack.price + np.zeros(knapsack.price.shape)
        below = np.concatenate((np.zeros((len(price), 1)), price.cumsum(axis=1)), axis=1)
        for q, sums in enumerate(below):
            used = (sums[knapsack.end] - sums[knapsack.start]) * knapsack.size[q, knapsack.lifetime_buffer]
            np.add.at(charged[q], knapsack.item_of_lifetime, used)
        largest = charged.max(axis=0).sum() + (price.sum(axis=1) * knapsack.size.sum(axis=1)).sum() + 1.0
        scale = _FINEST
        while scale > 1 and scale * largest >= _LARGEST_SUM:
            scale //= 2
        worth = (
            np.rint(price * scale).astype(np.int64)
            if scale * largest < _LARGEST_SUM
            else np.zeros(price.shape, dtype=np.int64)
        )
        none = np.zeros(len(price), dtype=np.int64)
        table = core.MultiplierTable(np.arange(len(price)), knapsack.size, none, none, worth, scale)
        return cls(Reference(table))

    @property
    def scale(self) -> int:
        """The number of parts into which a cost step is divided, so that multipliers are integers."""
        return self.table.table.scale

    def prices(self, knapsack: Knapsack) -> I64:
        """Return an array (p, k): the cost of each item in each pool, plus the price of the capacity that it uses."""
        prices = np.zeros(knapsack.price.shape, dtype=np.int64)
        core.choice_prices(knapsack.table, self.table, Reference(core.Amounts(prices)))
        return prices

    def value(self, knapsack: Knapsack, limit: I64) -> int:
        """Return a lower bound on the cost of choices within limits (p, rows), in 1 / `scale` of a cost step."""
        return core.choice_value(knapsack.table, self.table, Reference(core.Amounts(np.ascontiguousarray(limit))))

    def cost_bound(self, knapsack: Knapsack, limit: I64) -> int:
        """Return a lower bound, in steps, on the cost of choices within limits (p, rows)."""
        return -(-self.value(knapsack, limit) // self.scale)

    def load_bound(self, knapsack: Knapsack, limit: I64, q: int) -> int:
        """Return a lower bound, in units, on the largest load of pool `q` in choices within the other pools' limits.

        The knapsack must have no costs.
        """
        weight = sum(self.table.table.worth[q].tolist())
        free = limit.copy()
        free[q] = 0
        return -(-self.value(knapsack, free) // weight) if weight else 0


def cost_multipliers(
    knapsack: Knapsack, measured: I64, limit: I64, upper: float, iterations: int, flag: I64
) -> Multipliers:
    """Return multipliers that give a high lower bound on the cost of choices within `limit`.

    `upper` estimates the least cost from above. If the limits `measured` have rows, the multipliers also put prices on
    dual feasible functions of the sizes, in which a buffer of more than half of a row may count as the whole row.
    Otherwise, they put prices on units only.
    """
    return _find_multipliers(knapsack, measured, limit, ABSENT, upper, iterations, flag)


def load_multipliers(knapsack: Knapsack, limit: I64, q: int, upper: float, iterations: int, flag: I64) -> Multipliers:
    """Return multipliers that give a high lower bound on the load of pool `q`, for a knapsack without costs."""
    return _find_multipliers(knapsack, limit[:0], limit, q, upper, iterations, flag)


def _find_multipliers(
    knapsack: Knapsack, measured: I64, limit: I64, goal: int, upper: float, iterations: int, flag: I64
) -> Multipliers:
    """Return Lagrange multipliers found by the kernel; they bound the load of pool `goal` or, if ABSENT, the cost."""
    most, (n, rows) = len(limit) + core.FUNCTIONS, (knapsack.size.shape[1], knapsack.rows)
    pool, until, capacity, answer = np.zeros((4, most), dtype=np.int64)
    size, worth = np.zeros((most, n), dtype=np.int64), np.zeros((most, rows), dtype=np.int64)
    limits = np.ascontiguousarray(limit), np.ascontiguousarray(measured)
    room = pool, size, until, capacity, worth
    task = core.Bounding(*limits, goal, float(upper), iterations, flag, *room, answer)
    core.find_multipliers(knapsack.table, Reference(task))
    count, scale = answer[:2].tolist()
    pool, size, until, capacity, worth = (values[:count] for values in room)
    return Multipliers(Reference(core.MultiplierTable(pool, size, until, capacity, worth, scale)))


def cheapest_choice(
    knapsack: Knapsack,
    limit: I64,
    multipliers: Multipliers,
    nogoods: Sequence[NoGood],
    at_most: int,
    effort: ChoiceEffort,
    flag: I64,
) -> PoolChoice:
    """Return the cheapest choice of pools whose loads stay within `limit`, an array (pools, rows) of units.

    If every choice costs more than `at_most` steps, the result has no choice but a lower bound on the cost of all
    choices.
    """
    task = _choice_task(knapsack, limit, nogoods, at_most, effort, flag)
    core.cheapest_choice(knapsack.table, multipliers.table, Reference(task))
    is_found, cost, bound, work = task.answer.tolist()
    return PoolChoice(task.home if is_found else None, cost, bound, work)


def refit(knapsack: Knapsack, home: I64, limit: I64, flag: I64) -> I64 | None:
    """Return a choice near `home` with loads within `limit` (p, rows) in which no item moves cheaper, or None."""
    task = core.RefitTask(np.ascontiguousarray(limit), flag, column(home.copy()))
    return task.home if core.refit_choice(knapsack.table, Reference(task)) else None


def cost_bound(
    knapsack: Knapsack,
    limit: I64,
    multipliers: Multipliers,
    nogoods: Sequence[NoGood],
    at_most: int,
    effort: ChoiceEffort,
    flag: I64,
) -> PoolChoice:
    """Return a lower bound, of at most `at_most` + 1 steps, on the cost of all choices with loads within `limit`.

    `limit` is in units, as an array (pools, rows). If a row has more partial choices than allowed, the most expensive
    ones are relaxed: their buffers occupy nothing. Items that live in two parts of the rows have a choice in each, at a
    part of their price, so the bounds add up to a bound.
    """
    parts = effort.parts
    cuts = (np.arange(parts + 1) * knapsack.rows // parts).tolist()
    ranges = [_RowRange.take(knapsack, multipliers, limit, low, high) for low, high in pairwise(cuts)]
    floors = [each.floor() for each in ranges] if parts > 1 else [0]

    def bound_part(k: int) -> PoolChoice:
        inner = [nogood for nogood in nogoods if ranges[k].is_here[sorted(nogood.items)].all()]
        most = at_most - (sum(floors) - floors[k])
        task = _choice_task(knapsack, ranges[k].limit, inner, most, effort, flag)
        core.least_choice(ranges[k].items, ranges[k].table, Reference(task))
        return PoolChoice(None, 0, *task.answer[2:].tolist())

    with ThreadPoolExecutor(parts) as threads:
        found = list(threads.map(bound_part, range(parts)))
    return PoolChoice(None, 0, min(at_most + 1, sum(each.bound for each in found)), sum(each.work for each in found))


class _RowRange(NamedTuple):
    """The choice of the items that live in a range of rows, which are the mask `is_here` (k,).

    Each costs the part of its price that is in proportion to its rows there. All others are in one pool, at no cost.
    """

    items: Reference[core.ChoiceItems]
    table: Reference[core.MultiplierTable]
    limit: I64
    is_here: Bool

    @classmethod
    def take(cls, knapsack: Knapsack, multipliers: Multipliers, limit: I64, low: int, high: int) -> "_RowRange":
        table = multipliers.table.table
        part_limit = np.ascontiguousarray(limit[:, low:high])
        if high - low == knapsack.rows:
            return cls(knapsack.table, multipliers.table, part_limit, np.ones(knapsack.n_items, dtype=np.bool_))
        before, until, rows = (_rows_before(knapsack, row) for row in (low, high, knapsack.rows))
        is_here, rows = until > before, np.maximum(1, rows)
        lives = is_here[knapsack.item_of_lifetime] & (knapsack.start < high) & (knapsack.end > low)
        items = core.ChoiceItems(
            high - low,
            knapsack.item,
            np.where(is_here, knapsack.homes, np.arange(len(limit))[:, None] == 0).astype(np.int64),
            _share(knapsack.price, until, rows) - _share(knapsack.price, before, rows),
            knapsack.size,
            knapsack.lifetime_buffer[lives],
            np.maximum(knapsack.start[lives], low) - low,
            np.minimum(knapsack.end[lives], high) - low,
        )
        worth = np.ascontiguousarray(table.worth[:, low:high])
        return cls(Reference(items), Reference(table._replace(worth=worth)), part_limit, is_here)

    def floor(self) -> int:
        """Return a lower bound, in steps, on the cost of all choices."""
        value = core.choice_value(self.items, self.table, Reference(core.Amounts(self.limit)))
        return -(-value // self.table.table.scale)


def _share(price: I64, part: I64, whole: I64) -> I64:
    # The product of price and part might exceed int64.
    return column(price // whole * part + price % whole * part // whole)


def _rows_before(knapsack: Knapsack, row: int) -> I64:
    """Return how many rows before `row` each item lives in (k,); one with several live buffers counts each."""
    rows = np.zeros(knapsack.n_items, dtype=np.int64)
    lived = np.clip(row, knapsack.start, knapsack.end) - knapsack.start
    np.add.at(rows, knapsack.item_of_lifetime, lived)
    return rows


def _choice_task(
    knapsack: Knapsack, limit: I64, nogoods: Sequence[NoGood], at_most: int, effort: ChoiceEffort, flag: I64
) -> core.ChoiceTask:
    """Return the kernels' input table for the search for choices of pools within `limit` and the no-goods."""
    members = [sorted(nogood.items) for nogood in nogoods]
    return core.ChoiceTask(
        np.ascontiguousarray(limit),
        column([nogood.pool for nogood in nogoods]),
        column(np.cumsum([0, *map(len, members)])),
        column([j for each in members for j in each]),
        at_most,
        effort.partials,
        effort.kept,
        flag,
        np.zeros(knapsack.n_items, dtype=np.int64),
        np.zeros(4, dtype=np.int64),
    )
