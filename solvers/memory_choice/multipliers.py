"""Bounds on the choices of pools, and the cheapest choice, from kernels; see core/multipliers.hpp and cheapest.hpp."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from memplan.planner.instance.instance import F64
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
    """The limits of a search for a choice: the most partial choices per row, and the most partial choices in memory."""

    partials: int = 50_000
    kept: int = 8_000_000


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


def choice_task(
    knapsack: Knapsack, limit: I64, nogoods: Sequence[NoGood], at_most: int, effort: ChoiceEffort, flag: I64
) -> core.ChoiceTask:
    """Return the search for choices of pools that cost at most `at_most` steps and contain no no-good.

    Their loads are within `limit`, an array (pools, rows) of units.
    """
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


def cheapest_choice(knapsack: Knapsack, multipliers: Multipliers, task: core.ChoiceTask) -> PoolChoice:
    """Return the cheapest choice of pools of a task.

    If every choice costs more than the task allows, the result has no choice but a lower bound on the cost of all.
    """
    core.cheapest_choice(knapsack.table, multipliers.table, Reference(task))
    is_found, cost, bound, work = task.answer.tolist()
    return PoolChoice(task.home if is_found else None, cost, bound, work)


def refit(knapsack: Knapsack, home: I64, limit: I64, flag: I64, tries: int = 0) -> I64 | None:
    """Return a choice near `home` within `limit` (p, rows) where no item moves cheaper, after some tries, or None."""
    task = core.RefitTask(np.ascontiguousarray(limit), tries, flag, column(home.copy()))
    return task.home if core.refit_choice(knapsack.table, Reference(task)) else None


def cost_bound(knapsack: Knapsack, multipliers: Multipliers, task: core.ChoiceTask) -> PoolChoice:
    """Return a lower bound on the cost of all choices of a task, of at most one step more than it allows.

    If a row has more partial choices than allowed, the most expensive ones are relaxed: their buffers occupy nothing.
    """
    core.least_choice(knapsack.table, multipliers.table, Reference(task))
    _, _, bound, work = task.answer.tolist()
    return PoolChoice(None, 0, min(task.at_most + 1, bound), work)
