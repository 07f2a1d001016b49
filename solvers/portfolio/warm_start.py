"""Warm starts of a search: assignments (pools and offsets in units) derived from known plans."""

import numpy as np

from memplan.planner.instance.instance import I64_MAX, Instance
from memplan.planner.model.buffer_table import ABSENT, I64, column
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.problem import Problem
from memplan.solvers.packing.place import drop_buffers


def assignment_of(
    problem: Problem, instance: Instance, placements: PlacementTable, flag: I64 | None = None
) -> tuple[I64, I64] | None:
    """Return (pool, offset in units) of each buffer of an instance, from placements valid for the problem.

    Offsets that are not multiples of the unit are moved down. Returns None if that is impossible, or once flag[0] is
    not 0.
    """
    # A plan may name empty pools that the problem lacks, so give these the number ABSENT.
    pools = np.array([problem.pool_index.get(name, ABSENT) for name in placements.pool_names], dtype=np.int64)
    pool, offset = pools[placements.pool], placements.offset
    if placements.ids != problem.buffers.ids:
        at = np.empty(len(placements), dtype=np.int64)
        at[[problem.index[name] for name in placements.ids]] = np.arange(len(placements))
        pool, offset = pool[at], offset[at]
    mine, raw = column(pool[instance.source]), offset[instance.source]
    if not (raw % instance.unit).any():
        return mine, column(raw // instance.unit)
    sunk = drop_buffers(instance, mine, raw / instance.unit, flag)
    return None if sunk is None else (mine, sunk)


def mended_assignment(
    problem: Problem, instance: Instance, placements: PlacementTable, flag: I64 | None = None
) -> tuple[I64, I64] | None:
    """Return an assignment derived from known placements, some of which may be missing or invalid.

    Buffers stay in their pools where allowed, and keep the order of their offsets; each moves down to the lowest free
    offset. Buffers without a known offset come last. Returns None if a buffer does not fit in this order, or once
    flag[0] is not 0.
    """
    at = np.array([placements.row_of.get(name, ABSENT) for name in problem.buffers.ids], dtype=np.int64)
    row = at[instance.source]
    if len(placements) == 0 or len(row) == 0 or (row == ABSENT).all():
        return None
    numbers = np.array([problem.pool_index.get(name, ABSENT) for name in placements.pool_names], dtype=np.int64)
    pool = np.where(row == ABSENT, ABSENT, numbers[placements.pool[row]])
    first = np.argmax(instance.allowed, axis=0)
    may_stay = (pool != ABSENT) & instance.allowed[pool, np.arange(len(pool))]
    pool = np.where(may_stay, pool, first)[instance.colocation]
    raw = np.where(row == ABSENT, float(I64_MAX), placements.offset[row] / instance.unit)
    sunk = drop_buffers(instance, column(pool), np.maximum(raw, 0.0), flag)
    return None if sunk is None else (column(pool), sunk)
