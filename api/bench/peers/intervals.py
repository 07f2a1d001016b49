"""The problem that every peer understands: buffers with one lifetime each, in one pool as large as needed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from memplan.planner.errors import OptionError
from memplan.planner.model.buffer_table import I64, column
from memplan.planner.model.entries import entries_of
from memplan.planner.model.problem import Problem


@dataclass(frozen=True, eq=False)
class Intervals:
    """Columns of a problem that is nothing but sized intervals; lifetimes half-open, sizes and alignments in bytes."""

    start: I64
    end: I64
    size: I64
    alignment: I64

    @property
    def granule(self) -> int:
        """A step that all alignments divide: with sizes rounded up to it, planners that know no alignment will do."""
        return math.lcm(*set(self.alignment.tolist()))


def intervals(problem: Problem) -> Intervals:
    """Return the columns of a problem; raises OptionError where it is more than intervals."""
    table, pool = problem.buffers, problem.pools[0]
    beyond = {
        "several pools": len(problem.pools) > 1,
        "a capacity": pool.size is not None,
        "reserved ranges": bool(pool.reserved),
        "a base address": pool.base_address > 0,
        "conflicts": bool(problem.conflicts),
        "lifetimes with holes": bool((np.diff(table.first) != 1).any()),
        "pinned offsets": bool((table.offset >= 0).any()),
        "aliases": bool(table.aliases),
        "other constraints": bool(entries_of(problem).keys() - {"conflicts"}) or any(table.rules.values()),
        "an objective other than the peak": problem.objective != "peak",
    }
    if found := [feature for feature, is_there in beyond.items() if is_there]:
        raise OptionError(f"solver: peers cannot express {', '.join(found)}")
    alignment = [math.lcm(step, pool.alignment) for step in table.alignment.tolist()]
    return Intervals(table.start, table.end, table.size, column(alignment))
