"""The bytes of each pool that buffers which move can use."""

from collections.abc import Sequence
from math import gcd, lcm
from typing import NamedTuple

import numpy as np

from memplan.planner.model.moving import MovingBuffer
from memplan.planner.model.problem import Problem


class Capacity(NamedTuple):
    """The bytes of a pool, in cells of `step` bytes, to which sizes are rounded up; None without a limit."""

    most: int | None
    step: int

    def load(self, size: int) -> int:
        """Return the bytes that a buffer takes from the pool."""
        return -(-size // self.step) * self.step


def capacities(problem: Problem, rows: Sequence[MovingBuffer]) -> list[Capacity]:
    """Return the capacity of each pool; it has no limit if all buffers that are ever alive together fit."""
    found = []
    for q, pool in enumerate(problem.pools):
        here = [row for row in rows if q in row.pools]
        step = gcd(*(lcm(int(problem.buffers.alignment[row.position]), pool.alignment) for row in here)) or 1
        step = 1 if pool.base_address % step or pool.reserved else step
        if pool.size is None:
            found.append(Capacity(None, step))
            continue
        most = pool.size - sum(width for _, width in pool.reserved) if step == 1 else -(-pool.size // step) * step
        change: dict[int, int] = {}
        for row in here:
            for time, sign in ((row.start, 1), (row.end, -1)):
                change[time] = change.get(time, 0) + sign * Capacity(0, step).load(row.size)
        load = np.cumsum([change[time] for time in sorted(change)]).max(initial=0)
        found.append(Capacity(None if load <= most and not pool.reserved else most, step))
    return found
