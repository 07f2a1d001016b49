"""How large the integer program would be, and how far memories can be filled, known before it is written."""

from __future__ import annotations

import numpy as np

from planner.instance import Instance
from planner.objective import Score

MAX_ROWS = 200_000
"""What is written at most: a program of a million rows is of no use to an engine, and takes gigabytes."""


def count_rows(instance: Instance) -> int:
    """Return how many rows the program has at most; O(m) time, no pair is listed."""
    begun = np.bincount(instance.start, minlength=instance.n_live_sets)
    ended = np.bincount(instance.end, minlength=instance.n_live_sets + 1)[: instance.n_live_sets]
    alive = np.cumsum(begun - ended)
    by_time = int((begun * (alive - begun) + begun * (begun - 1) // 2).sum())
    reserved = sum(len(memory.reserved) for memory in instance.memories)
    pairs = by_time + len(instance.conflict) // 2 + len(instance) * reserved
    p = len(instance.memories)
    a_buffer = 2 if p == 1 else 6 + 2 * p
    a_pair = 2 if p == 1 else 3 + p
    crowds, members = instance.n_live_sets, int(alive.sum())
    if len(instance.conflict):
        crowds, members = crowds + 1, members + len(instance)
    of_crowds = (1 + p) * members + (reserved + (0 if p == 1 else 2 * p)) * crowds
    return 1 + reserved + (a_buffer + 1) * len(instance) + a_pair * pairs + of_crowds


def sensible_limits(instance: Instance, known: Score | None) -> list[int]:
    """Return where each memory ends at the latest in a plan whose buffers have fallen as far as they can.

    Some best plan is such a one. A plan with the score `known` keeps to the limits too.
    """
    return [
        _sensible_limit(instance, q, 0 if known is None else int(known[-1 - q])) for q in range(len(instance.memories))
    ]


def _sensible_limit(instance: Instance, q: int, known: int) -> int:
    mine = instance.allowed[q]
    waste = (instance.alignment[q] - 1)[mine].tolist()
    fixed = [0, *instance.memories[q].reserved[:, 1].tolist(), *instance.residue[q, mine].tolist()]
    stack = max([*fixed, *instance.pin[mine].tolist()]) + sum([*instance.size[mine].tolist(), *waste])
    return min(instance.memories[q].capacity, max(int(stack), known))
