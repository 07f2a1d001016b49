"""The score of an assignment: a tuple that solvers minimise, as the objective of the problem says."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import nextafter

import numpy as np

from memplan.planner.instance.instance import Bool, Instance
from memplan.planner.model.buffer_table import I64

Score = tuple[float, ...]
"""Smaller is better, compared entry by entry. For `peak` and `fit`: what is used (int, in units) of the last pool,
then of the one before it, and so on to the first. For `cost`: the total cost (bytes x cost, and weights of pairs in a
common bank), then what is used of the pools as for `peak`."""


def used(instance: Instance, pool: I64, offset: I64) -> list[int]:
    """Return the largest end offset in each pool, in units; 0 in one that holds nothing."""
    ends = offset + instance.size
    if len(instance.pools) == 1:
        return [int(ends.max(initial=0))]
    found = np.zeros(len(instance.pools), dtype=np.int64)
    np.maximum.at(found, pool, ends)
    return [int(value) for value in found]


def score(instance: Instance, pool: I64, offset: I64) -> Score:
    """Score an assignment: pool `pool[i]` and offset `offset[i]` (units) for each buffer."""
    peaks = tuple(reversed(used(instance, pool, offset)))
    return (total_cost(instance, pool, offset), *peaks) if instance.objective == "cost" else peaks


def total_cost(instance: Instance, pool: I64, offset: I64) -> float:
    """Return the sum over the buffers of traffic (bytes) x cost of the pool, and of weights, rounded once, and down.

    Counted are the weights of pairs that touch a common bank.
    """
    weights = instance.soft_weight[clashes(instance, instance.soft_pairs, pool, offset)]
    traffic = (sum(instance.traffic[pool == q].tolist()) for q in range(len(instance.pools)))
    priced = zip(traffic, (each.cost for each in instance.pools), strict=True)
    counted = zip(*np.unique(weights, return_counts=True), strict=True)
    return cost_of([*priced, *((int(count), float(weight)) for weight, count in counted)])


def cost_of(priced: Iterable[tuple[int, float]]) -> float:
    """Return the sum of counts x prices, taken as the decimals that they are written as, rounded once, and down."""
    return rounded_down(sum((count * Fraction(repr(float(price))) for count, price in priced), Fraction(0)))


def rounded_down(exact: Fraction) -> float:
    """Return the largest number that, as it is written, does not pass an exact one: so a bound stays one."""
    number = float(exact)
    while Fraction(repr(number)) > exact:
        number = nextafter(number, float("-inf"))
    return number


def clashes(instance: Instance, pairs: I64, pool: I64, offset: I64) -> Bool:
    """Return True for the pairs, (k, 2), that touch a common bank; (k,)."""
    if len(pairs) == 0:
        return np.zeros(0, dtype=np.bool_)
    i, j = pairs.T
    bank = np.array([each.bank for each in instance.pools])[pool]
    shift = np.array([each.bank_shift for each in instance.pools])[pool]
    width = np.maximum(bank, 1)
    first, last = (offset + shift) // width, (offset + instance.size - 1 + shift) // width
    return np.asarray((pool[i] == pool[j]) & (bank[i] > 0) & (first[i] <= last[j]) & (first[j] <= last[i]))
