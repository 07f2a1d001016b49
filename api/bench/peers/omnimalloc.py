"""Adapters to omnimalloc (Apache-2.0): sizes are rounded up to alignments, and times moved to begin at 0."""

from __future__ import annotations

import numpy as np
from omnimalloc import Allocation, allocate
from omnimalloc.allocators import BaseAllocator, OmniAllocator, SupermallocAllocator

from memplan.api.bench.peers.intervals import intervals
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.problem import Problem

_THREADS = 6
"""Fewer, and no member of its portfolio queries the lower bound itself, whatever the number of cores."""


def supermalloc(problem: Problem, time_limit_s: float) -> I64:
    """Return the offsets of its branch and bound."""
    return _allocate(problem, SupermallocAllocator(timeout=time_limit_s, num_threads=_THREADS))


def default(problem: Problem, time_limit_s: float) -> I64:
    """Return the offsets of its greedy portfolio, which knows no time limit."""
    return _allocate(problem, OmniAllocator())


def _allocate(problem: Problem, allocator: BaseAllocator) -> I64:
    rows = intervals(problem)
    granule = rows.granule
    size = np.maximum(1, -(-rows.size // granule)) * granule
    offset = np.zeros(len(size), dtype=np.int64)
    first = int(rows.start.min(initial=0))
    columns = (values.tolist() for values in (size, rows.start - first, rows.end - first))
    placed = allocate([Allocation(i, *row) for i, row in enumerate(zip(*columns, strict=True))], allocator)
    for allocation in placed:
        offset[int(allocation.id)] = allocation.offset
    return offset
