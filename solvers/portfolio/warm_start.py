"""Assignments from known plans, to start a search from or to keep."""

from __future__ import annotations

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64, column
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.problem import Problem
from memplan.solvers.packing.place import drop


def assignment_of(
    problem: Problem, instance: Instance, placements: PlacementTable, flag: I64 | None = None
) -> tuple[I64, I64] | None:
    """Return (memory, offset in units) of each buffer of the instance, for placements that are right for the problem.

    Offsets between units sink to whole ones; None where they cannot, or once flag[0] is not 0.
    """
    pools = np.array([problem.pool_index[name] for name in placements.pool_names], dtype=np.int64)
    pool, offset = pools[placements.pool], placements.offset
    if placements.ids != problem.buffers.ids:
        at = np.empty(len(placements), dtype=np.int64)
        at[[problem.index[name] for name in placements.ids]] = np.arange(len(placements))
        pool, offset = pool[at], offset[at]
    mine, raw = column(pool[instance.source]), offset[instance.source]
    if not (raw % instance.unit).any():
        return mine, column(raw // instance.unit)
    sunk = drop(instance, mine, raw / instance.unit, flag)
    return None if sunk is None else (mine, sunk)
