"""Make tinygrad use plans of memplan without changing its source: `import memplan_tinygrad` before models run.

tinygrad's planner requests offsets from an allocator when the lifetimes of buffers begin. This module runs the planner
twice: first with tinygrad's allocator, extended to record lifetimes, then with an allocator that returns memplan's
offsets. Each lane (the kernels of a device, or its copies) is one problem. If memplan's plan of a lane is not smaller,
tinygrad's plan is kept. With MEMPLAN_TINYGRAD=0, all plans of tinygrad are kept, and memplan only counts. `calls` has a
row for each planned lane. The code matches tinygrad a9069c17.
"""

from __future__ import annotations

import os
import time
from typing import Any, ClassVar

import tinygrad.engine.jit
import tinygrad.schedule
from tinygrad.schedule import memory

from memplan import Buffer, Pool, Problem, solve

_Own, _rewrite = memory.TLSFAllocator, memory.memory_plan_rewrite
ALIGNMENT = 256
_MOST_BYTES = 2**62
"""memplan accepts at most this sum of buffer sizes, so a lane (one device's kernels) above it keeps tinygrad's plan."""
calls: list[dict[str, Any]] = []
"""One row per lane (one device's kernels): number of buffers, bytes of both plans, lower bound, microseconds."""


class _RecordingAllocator(_Own):
    """tinygrad's allocator, which also records the size, start and end of each buffer; each call is a time step."""

    lanes: ClassVar[list[_RecordingAllocator]] = []

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Register this allocator as the recorder of the next lane (kernels of a device, or its copies)."""
        super().__init__(*arguments, **options)
        self.rows: list[list[int]] = []
        self.offsets: list[int] = []
        self.open: dict[int, int] = {}
        self.lanes.append(self)
        self.clock = 0

    def alloc(self, req_size: int, align: int = 1) -> int:
        """Return tinygrad's offset for a new buffer, and record the buffer's size and start."""
        offset = super().alloc(req_size, align)
        self.clock += 1
        self.open[offset] = len(self.rows)
        self.rows.append([req_size, self.clock, 0])
        self.offsets.append(offset)
        return offset

    def free(self, start: int) -> None:
        """Free a buffer as tinygrad does, and record the end of the buffer's lifetime."""
        self.clock += 1
        self.rows[self.open.pop(start)][2] = self.clock
        super().free(start)


class _PlannedAllocator:
    """An allocator that returns the offsets of memplan's plans; each new instance takes the plan of the next lane.

    A lane is the sequence of kernels of a device, or its copies.
    """

    plans: ClassVar[list[list[int]]] = []

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.offsets = iter(self.plans.pop(0))

    def alloc(self, req_size: int, align: int = 1) -> int:
        """Return the planned offset of the next buffer."""
        return next(self.offsets)

    def free(self, start: int) -> None:
        pass


def _lane_offsets(lane: _RecordingAllocator) -> list[int]:
    """Record a lane's peaks in both plans; return memplan's offsets if smaller and enabled, else tinygrad's."""
    if sum(size for size, *_ in lane.rows) > _MOST_BYTES:
        return lane.offsets
    for row in lane.rows:
        row[2] = row[2] or lane.clock + 1
    start = time.thread_time()
    buffers = [Buffer(id=k, size=size, start=begin, end=end) for k, (size, begin, end) in enumerate(lane.rows)]
    plan = solve(Problem(buffers=buffers, pools=[Pool(alignment=ALIGNMENT)]), deterministic=True)
    offsets: list[int] = plan.placements.offset.tolist()
    spent = time.thread_time() - start
    peaks = [max(at + row[0] for at, row in zip(each, lane.rows, strict=True)) for each in (lane.offsets, offsets)]
    better = peaks[1] < peaks[0] and os.environ.get("MEMPLAN_TINYGRAD") != "0"
    calls.append(
        {"buffers": len(offsets), "own": peaks[0], "memplan": min(peaks), "bound": plan.lower_bound, "us": spent * 1e6}
    )
    return offsets if better else lane.offsets


def plan_memory(linear: Any, held_bufs: Any = None) -> Any:
    """Return the schedule after placing its buffers in arenas; this function replaces `memory_plan_rewrite`."""
    _RecordingAllocator.lanes.clear()
    memory.TLSFAllocator = _RecordingAllocator
    before, start = len(calls), time.thread_time()
    own = _rewrite(linear, held_bufs)
    spent = time.thread_time() - start
    _PlannedAllocator.plans = [_lane_offsets(lane) for lane in _RecordingAllocator.lanes]
    for call in calls[before:]:
        call["own_us"] = spent * 1e6
    if not _RecordingAllocator.lanes or all(
        plan == lane.offsets for plan, lane in zip(_PlannedAllocator.plans, _RecordingAllocator.lanes, strict=True)
    ):
        return own
    memory.TLSFAllocator = _PlannedAllocator
    return _rewrite(linear, held_bufs)


for _module in (memory, tinygrad.schedule, tinygrad.engine.jit):
    _module.memory_plan_rewrite = plan_memory
