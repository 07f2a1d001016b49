"""Lagrangian multipliers: the worth of capacity in each row and pool, and the bounds that follow.

With the rows' limits lifted and excess charged for, each item goes where it is cheapest by itself; what that costs,
less what all the capacity is worth, is no more than what any choice costs (Fisher, Management Science 27, 1981).
Multipliers are found in floating point and rounded to integers: any give a bound, which is then counted exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from memplan.planner.instance.instance import F64
from memplan.planner.model.buffer_table import I64
from memplan.solvers.memory_choice.knapsack import Amounts, Knapsack
from memplan.solvers.memory_choice.measures import Measures

_MOMENTUM = 0.8
_PATIENCE = 15
"""The iterations without a gain after which steps get shorter, from the best multipliers."""
_SHORTER = 0.6
_SHORTEST = 1e-4
_LARGEST = 2.0**60
_FINEST = 2**40
_FUNCTIONS = 6
"""The most measures besides units."""


@dataclass(frozen=True, eq=False)
class Multipliers:
    """`worth[r, t]` is the worth of measure `r` in row `t`; a step of cost counts as `scale`.

    The first measures are the units of each pool.
    """

    worth: I64  # (r, rows)
    scale: int
    measures: Measures

    def prices(self, knapsack: Knapsack) -> I64:
        """Return each item's price in each pool, including the worth of its capacity; (p, k)."""
        size = self.measures.size[:, knapsack.lifetime_buffer]
        return knapsack.price * self.scale + _charges(knapsack, self.measures.pool, size, self.worth)

    def value(self, knapsack: Knapsack, limit: I64) -> int:
        """Return a lower bound on the cost of choices within limits (p, rows), in units of 1 / `scale` step."""
        cheapest = np.where(knapsack.homes, self.prices(knapsack), np.iinfo(np.int64).max).min(axis=0)
        total: int = sum((self.worth * self.measures.limits(limit)).sum(axis=1).tolist())
        charged: int = sum(cheapest.tolist())
        return charged - total

    def cost_bound(self, knapsack: Knapsack, limit: I64) -> int:
        """Return a lower bound in steps on the cost of choices within limits (p, rows)."""
        return -(-self.value(knapsack, limit) // self.scale)

    def load_bound(self, knapsack: Knapsack, limit: I64, q: int) -> int:
        """Return a lower bound on the largest load of pool `q` over choices that keep the other limits.

        For a knapsack without costs.
        """
        weight = sum(self.worth[q].tolist())
        free = limit.copy()
        free[q] = 0
        return -(-self.value(knapsack, free) // weight) if weight else 0


def for_cost(
    knapsack: Knapsack, measures: Measures, limit: I64, upper: float, iterations: int, is_over: Callable[[], bool]
) -> Multipliers:
    """Return multipliers for a large cost bound; `upper` is an upper guess of the cost."""
    values = _ascend(knapsack, measures, limit, None, upper, iterations, is_over)
    if len(values) > len(limit) + _FUNCTIONS:
        # The few that are worth most bound almost as well, and partial choices carry the loads of all.
        worth = np.where(measures.until > 0, (values * measures.limits(limit)).sum(axis=1), np.inf)
        measures = measures.only(np.argsort(np.argsort(-worth, kind="stable")) < len(limit) + _FUNCTIONS)
        values = _ascend(knapsack, measures, limit, None, upper, iterations, is_over)
    return _whole(knapsack, measures, values)


def for_load(
    knapsack: Knapsack, limit: I64, q: int, upper: float, iterations: int, is_over: Callable[[], bool]
) -> Multipliers:
    """Return multipliers for a large bound on the load of pool `q`, when nothing has a cost."""
    measures = Measures.of_units(knapsack)
    values = _ascend(knapsack, measures, limit, q, upper, iterations, is_over)
    return _whole(knapsack, measures, values)


def _ascend(
    knapsack: Knapsack,
    measures: Measures,
    limit: I64,
    goal: int | None,
    upper: float,
    iterations: int,
    is_over: Callable[[], bool],
) -> F64:
    """Run deflected subgradient ascent (Camerini, Fratta and Maffioli 1975) with Polyak steps.

    For a goal, the load of one pool, its multipliers are kept at a sum of 1, and its limit is what is maximised.
    """
    everything = np.arange(knapsack.n_items)
    price = np.where(knapsack.homes, knapsack.price, np.inf)
    # All measures of a pool in its units, or steps would be long in some and short in others.
    size = measures.size[:, knapsack.lifetime_buffer] / measures.grain
    capacity = measures.limits(limit) / measures.grain
    values = np.zeros(capacity.shape)
    if goal is not None:
        capacity[goal] = 0.0
        # The pool whose load is bounded has weights that add up to 1.
        values[goal] = 1.0 / knapsack.rows
    best, best_worth = -np.inf, values
    direction, step, stalled = np.zeros_like(values), 1.0, 0
    for _ in range(iterations):
        prices = price + _charges(knapsack, measures.pool, size, values)
        home = prices.argmin(axis=0)
        value = float(prices[home, everything].sum() - (values * capacity).sum())
        stalled = 0 if value > best + 1e-4 * abs(best) else stalled + 1
        if value > best:
            best, best_worth = value, values
        if stalled >= _PATIENCE:
            values, direction, step, stalled = best_worth, np.zeros_like(values), step * _SHORTER, 0
            if step < _SHORTEST:
                break
        is_there = home[knapsack.item_of_lifetime] == measures.pool[:, None]
        excess = knapsack.row_sums(np.where(is_there, size, 0.0)) - capacity
        if goal is not None:
            excess[goal] -= value
        # Multipliers cannot fall below 0, so such a direction is no way.
        excess[(values <= 0) & (excess < 0)] = 0
        direction = excess + _MOMENTUM * direction
        length = float((direction * direction).sum())
        if length == 0 or is_over():
            break
        # Polyak's step: the longer, the further the bound is from the guess of the cost.
        values = np.maximum(0, values + step * max(upper - value, 1.0) / length * direction)
        if goal is not None:
            total = values[goal].sum()
            values = values / total if total > 0 else best_worth
    return best_worth / measures.grain


def _charges(knapsack: Knapsack, pool: I64, size: Amounts, worth: Amounts) -> Amounts:
    """Return the worth of each item's capacity in each pool, (p, k), by sizes of lifetimes (r, m)."""
    below = np.zeros((len(worth), knapsack.rows + 1), dtype=worth.dtype)
    np.cumsum(worth, axis=1, out=below[:, 1:])
    each: Amounts = (below[:, knapsack.end] - below[:, knapsack.start]) * size
    pools = len(knapsack.homes)
    if len(each) > pools:
        each = np.stack([each[pool == q].sum(axis=0) for q in range(pools)])
    if knapsack.each_lives_once:
        return each
    charges = np.zeros((pools, knapsack.n_items), dtype=worth.dtype)
    for mine, charge in zip(charges, each, strict=True):
        np.add.at(mine, knapsack.item_of_lifetime, charge)
    return charges


def _whole(knapsack: Knapsack, measures: Measures, worth: F64) -> Multipliers:
    """Round multipliers to integers, as fine as int64 sums allow, or to zeros if that is too coarse.

    Measures that are worth nothing are left out.
    """
    kept = np.asarray((worth > 0).any(axis=1) | (measures.until == 0))
    measures, worth = measures.only(kept), worth[kept]
    size = measures.size[:, knapsack.lifetime_buffer]
    charged = knapsack.price + _charges(knapsack, measures.pool, size.astype(np.float64), worth)
    most = measures.size.sum(axis=1, keepdims=True)
    largest = float(charged.max(axis=0, initial=0).sum() + (worth * most).sum()) + 1.0
    scale = _FINEST
    # Finer multipliers prove more, as long as sums stay exact in int64.
    while scale > 1 and scale * largest >= _LARGEST:
        scale //= 2
    if scale * largest >= _LARGEST:
        return Multipliers(np.zeros(worth.shape, dtype=np.int64), 1, measures)
    return Multipliers(np.rint(worth * scale).astype(np.int64), scale, measures)
