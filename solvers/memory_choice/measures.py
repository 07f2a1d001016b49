"""Measures of buffers in pool rows: their units, and dual feasible functions that capture large buffers.

Whatever lies in a row within `until` units adds up to no more than `capacity` of each function, which is dual feasible
(Fekete and Schepers, Mathematical Programming 91, 2001). A buffer of more than half of a row, of which only one is
there, thereby counts as what it leaves no room for: a bound by multipliers sees that, and not units alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from memplan.planner.instance.instance import F64, Bool
from memplan.planner.model.buffer_table import I64, column
from memplan.solvers.memory_choice.knapsack import Knapsack

_COUNTS = 12
"""The largest k for functions that count how many of k + 1 equal parts of a row a buffer exceeds."""
_LARGE = 4
"""The most sizes above half of a row for which a function is made."""


@dataclass(frozen=True, eq=False)
class Measures:
    """Measure `r` concerns pool `pool[r]`, in which buffer `i` counts `size[r, i]`.

    The first are the units of each pool, in order; others hold for rows up to `until` units, with a `capacity` there.
    """

    pool: I64
    size: I64  # (r, n)
    until: I64
    capacity: I64

    @classmethod
    def of_units(cls, knapsack: Knapsack) -> Measures:
        """Return the unit measures alone."""
        none = np.zeros(len(knapsack.size), dtype=np.int64)
        return cls(np.arange(len(knapsack.size)), knapsack.size, none, none)

    @classmethod
    def of(cls, knapsack: Knapsack, limit: I64) -> Measures:
        """Return the unit measures and functions of them for limits (p, rows), without redundant ones."""
        units = cls.of_units(knapsack)
        pools, sizes, untils, capacities = (
            [*values] for values in (units.pool, units.size, units.until, units.capacity)
        )
        for q, until in enumerate(limit.max(axis=1, initial=0).tolist()):
            own = np.where(knapsack.homes[q, knapsack.item] & (knapsack.size[q] <= until), knapsack.size[q], 0)
            for size, capacity in _functions(own, until) if until > 0 else ():
                if (knapsack.row_sums(size[None, knapsack.lifetime_buffer]) > capacity).any():
                    pools.append(q)
                    sizes.append(size)
                    untils.append(until)
                    capacities.append(capacity)
        return cls(column(pools), np.array(sizes), column(untils), column(capacities))

    def limits(self, limit: I64) -> I64:
        """Return the capacity of each measure in each row, given those of the pools; (r, rows)."""
        functions = slice(len(limit), None)
        most = self.size[functions].sum(axis=1)
        holds = limit.max(axis=1, initial=0)[self.pool[functions]] <= self.until[functions]
        rows = np.where(holds, self.capacity[functions], most)[:, None]
        return np.concatenate((limit, np.broadcast_to(rows, (len(rows), limit.shape[1]))))

    @cached_property
    def grain(self) -> F64:
        """The amount of each measure that corresponds to a unit of its pool; (r, 1)."""
        grain = np.where(self.until > 0, self.capacity / np.maximum(1, self.until), 1.0)
        return np.asarray(grain[:, None])

    def only(self, kept: Bool) -> Measures:
        """Return the kept measures, always including units."""
        return Measures(self.pool[kept], self.size[kept], self.until[kept], self.capacity[kept])


def _functions(size: I64, until: int) -> list[tuple[I64, int]]:
    """Return (each buffer's count, the capacity) of dual feasible functions for rows of `until` units."""
    found: list[tuple[I64, int]] = [((k + 1) * size // (until + 1), k) for k in range(1, 1 + min(_COUNTS, until))]
    large = np.unique(size[2 * size > until])
    for least in sorted({*large[np.linspace(0, len(large) - 1, _LARGE).astype(int)].tolist()} if len(large) else ()):
        # Beside one of these, nothing fits that counts, and two of them do not fit.
        found.append((np.where(size >= least, until, np.where(size <= until - least, 0, size)), until))
    return found
