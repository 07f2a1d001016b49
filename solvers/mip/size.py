"""The size of the integer program and the ends of its pools, before it is written."""

from __future__ import annotations

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.instance.objective import Score
from memplan.solvers.formulation.offset_ranges import horizon

MAX_ROWS = 200_000
"""The most rows that are written: a program of a million rows is of no use to an engine, and takes gigabytes."""


def count_rows(instance: Instance) -> int:
    """Return the most rows that the program can have; O(m) time, no pair is listed."""
    begun = np.bincount(instance.start, minlength=instance.n_live_sets)
    ended = np.bincount(instance.end, minlength=instance.n_live_sets + 1)[: instance.n_live_sets]
    alive = np.cumsum(begun - ended)
    by_time = int((begun * (alive - begun) + begun * (begun - 1) // 2).sum())
    reserved = sum(len(pool.reserved) for pool in instance.pools)
    named = len(instance.conflict) // 2 + len(instance.clear_pairs)
    pairs = by_time + named + len(instance) * reserved
    p = len(instance.pools)
    a_buffer = 2 if p == 1 else 6 + 2 * p
    a_pair = 2 if p == 1 else 3 + p
    crowds, members = instance.n_live_sets, int(alive.sum())
    if len(instance.conflict):
        crowds, members = crowds + 1, members + len(instance)
    of_crowds = (1 + p) * members + (reserved + (0 if p == 1 else 2 * p)) * crowds
    return 1 + reserved + (a_buffer + 1) * len(instance) + a_pair * pairs + of_crowds + _rows_of_ties(instance)


def _rows_of_ties(instance: Instance) -> int:
    """Return the most rows that the constraints between buffers, on pages and on banks can have."""
    p = len(instance.pools)
    n_shares, n_partners, n_soft = len(instance.share) // 2, len(instance.bank_with) // 2, len(instance.soft_pairs)
    tied = int((instance.anchor != np.arange(len(instance))).sum())
    moving = int((instance.colocation != np.arange(len(instance))).sum()) * (p if p > 1 else 0)
    paged = int((instance.page > 0).any(axis=0).sum())
    parted = n_shares * (4 + 2 * p) + n_partners * (1 + 7 * p) + n_partners * 3 + n_soft * 7 * p
    return tied + moving + paged * (2 + p) + parted


def sensible_limits(instance: Instance, known: Score | None) -> list[int]:
    """Return where each pool ends at the latest in a plan whose buffers have fallen as far as they can.

    Some best plan is such a one. A plan with the score `known` keeps to the limits too.
    """
    reached = [0] * len(instance.pools) if known is None else known[::-1]
    return [min(pool.capacity, max(horizon(instance, q), int(reached[q]))) for q, pool in enumerate(instance.pools)]
