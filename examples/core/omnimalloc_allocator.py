"""An omnimalloc allocator that plans with memplan; use it as `allocate(allocations, MemplanAllocator())`."""

from __future__ import annotations

from typing import ClassVar

from omnimalloc import Allocation
from omnimalloc.allocators.base import BaseAllocator

import memplan


class MemplanAllocator(BaseAllocator):
    """An allocator that minimises the peak within `timeout` seconds or, without a timeout, by a deterministic search.

    Allocations that already have an offset keep it.
    """

    supports_vector_time: ClassVar[bool] = False
    supports_pinned: ClassVar[bool] = True

    def __init__(self, timeout: float | None = None) -> None:
        """Set the time limit in seconds; None for a deterministic search."""
        self._timeout = timeout

    def _allocate(self, allocations: tuple[Allocation, ...]) -> tuple[Allocation, ...]:
        """Return the allocations with offsets planned by memplan; given offsets are kept."""
        rows = [
            {"id": i, "size": row.size, "start": row.start, "end": row.end, "offset": row.offset}
            for i, row in enumerate(allocations)
        ]
        problem = memplan.Problem(buffers=rows)
        if self._timeout is None:
            plan = memplan.solve(problem, deterministic=True)
        else:
            plan = memplan.solve(problem, time_limit_s=self._timeout)
        placed = {row.id: row.offset for row in plan.placements}
        return tuple(row.with_offset(placed[i]) for i, row in enumerate(allocations))
