"""The score of an assignment: a tuple that solvers minimise, whose entries depend on the problem's objective."""

from collections.abc import Iterable
from fractions import Fraction
from math import nextafter

import numpy as np

from memplan.planner.instance.instance import FEW, Bool, Instance
from memplan.planner.model.buffer_table import I64

Score = tuple[float, ...]
"""Scores are compared entry by entry; smaller is better. For `peak` and `fit`, the entries are the used units (int) of
each
pool, from the last pool to the first. For `cost`, the total cost (bytes x cost, and prices of pairs that meet) precedes
them."""


def used_ends(instance: Instance, pool: I64, offset: I64) -> list[int]:
    """Return each pool's largest end offset, in units; 0 for an empty pool."""
    ends = offset + instance.size
    if len(instance.pools) == 1:
        return [int(ends.max(initial=0))]
    used_ends = np.zeros(len(instance.pools), dtype=np.int64)
    np.maximum.at(used_ends, pool, ends)
    return [int(value) for value in used_ends]


def score(instance: Instance, pool: I64, offset: I64) -> Score:
    """Return the score of an assignment, which puts buffer i into pool `pool[i]` at `offset[i]` units."""
    peaks = tuple(reversed(used_ends(instance, pool, offset)))
    return (total_cost(instance, pool, offset), *peaks) if instance.objective == "cost" else peaks


def total_cost(instance: Instance, pool: I64, offset: I64) -> float:
    """Return the cost of an assignment, computed exactly and rounded down once.

    The cost is the sum of traffic (bytes) times the pool's cost, plus the prices of pairs with common bytes or banks.
    """
    weights = instance.priced_pairs.price[cost_mask(instance, pool, offset)]
    traffic = (sum(instance.traffic[pool == q].tolist()) for q in range(len(instance.pools)))
    priced = zip(traffic, (each.cost for each in instance.pools), strict=True)
    counted = zip(*np.unique(weights, return_counts=True), strict=True)
    return cost_of([*priced, *((int(count), float(weight)) for weight, count in counted)])


def cost_of(priced: Iterable[tuple[int, float]]) -> float:
    """Return the sum of count times price, computed exactly in decimals and rounded down once."""
    return rounded_down(sum((count * Fraction(repr(float(price))) for count, price in priced), Fraction(0)))


def rounded_down(exact: Fraction) -> float:
    """Return the largest float whose decimal text is at most the exact number, so that a bound stays valid."""
    number = float(exact)
    while Fraction(repr(number)) > exact:
        number = nextafter(number, float("-inf"))
    return number


def cost_mask(instance: Instance, pool: I64, offset: I64) -> Bool:
    """Return a mask (k,) of the priced pairs that incur their price: they share bytes or, if priced by bank, a bank."""
    priced = instance.priced_pairs
    if len(priced) == 0:
        return np.zeros(0, dtype=np.bool_)
    i, j = priced.rows.T
    bank = np.array([each.bank for each in instance.pools])[pool[i]]
    shift = np.array([each.bank_shift for each in instance.pools])[pool[i]]
    width = np.where(priced.by_bank, bank, 1)
    is_there = (pool[i] == pool[j]) & (width > 0)
    width = np.maximum(width, 1)
    first_i, first_j = ((offset[k] + shift) // width for k in (i, j))
    last_i, last_j = ((offset[k] + instance.size[k] - 1 + shift) // width for k in (i, j))
    return np.asarray(is_there & (first_i <= last_j) & (first_j <= last_i))


def reaches(instance: Instance, value: Score, bound: Score) -> bool:
    """Return True if a score is at most a bound.

    For the objective `cost` with `reuse` pairs and more than FEW buffers, only the costs are compared.
    """
    return value[0] <= bound[0] if _is_cost_alone(instance) else value <= bound


def exceeds(instance: Instance, bound: Score, value: Score) -> bool:
    """Return True if a lower bound is false, as an assignment has the score `value`; costs may be rounded."""
    if instance.objective == "cost" and (_is_cost_alone(instance) or bound[0] != value[0]):
        return bound[0] > value[0] * (1 + 1e-9)
    return bound > value


def _is_cost_alone(instance: Instance) -> bool:
    return instance.objective == "cost" and len(instance.reuse_pairs) > 0 and len(instance) > FEW
