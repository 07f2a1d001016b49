"""Planners that are allocators: they see allocations and releases in time order, without lookahead."""

from __future__ import annotations

from typing import Protocol

from memplan.planner.model.problem import Problem
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck, align, granule, tensors


class Allocator(Protocol):
    """Hands out ranges of bytes, and takes them back."""

    def allocate(self, size: int) -> int:
        """Return the offset of `size` bytes, now in use."""

    def release(self, offset: int, size: int) -> None:
        """Take back what `allocate` returned."""


def place_online(problem: Problem, stop_check: StopCheck, block: int, allocator: Allocator) -> PlannerAnswer:
    """Place buffers by start time, equal ones as given; at equal times releases come before allocations.

    Sizes are rounded up to `block` bytes, and to what the alignments of the problem require.
    """
    rows = tensors(problem)
    unit = align(block, granule(problem, rows))
    events = sorted(
        [(tensor.start, True, k) for k, tensor in enumerate(rows) if tensor.start < tensor.end]
        + [(tensor.end, False, k) for k, tensor in enumerate(rows) if tensor.start < tensor.end]
    )
    offsets = [0] * len(rows)
    for _, starts, k in events:
        stop_check()
        size = align(rows[k].size, unit)
        if starts:
            offsets[k] = allocator.allocate(size)
        else:
            allocator.release(offsets[k], size)
    return PlannerAnswer({tensor.position: (0, offset) for tensor, offset in zip(rows, offsets, strict=True)})


class FreeBlocks:
    """The free blocks of an unlimited memory, by offset; adjacent ones are merged."""

    def __init__(self) -> None:
        self.blocks: list[tuple[int, int]] = []
        """(offset, size) of those below `top`."""
        self.top = 0

    def take(self, k: int, size: int) -> int:
        """Take the first bytes of a block; return their offset."""
        offset, whole = self.blocks[k]
        self.blocks[k : k + 1] = [(offset + size, whole - size)] if whole > size else []
        return offset

    def grow(self, size: int) -> int:
        """Take bytes from the last block below the top, extending the top as needed; return their offset."""
        offset = self.top
        if self.blocks and sum(self.blocks[-1]) == self.top:
            offset, _ = self.blocks.pop()
        self.top = offset + size
        return offset

    def release(self, offset: int, size: int) -> None:
        """Add a block, merged with its neighbours."""
        merged: list[tuple[int, int]] = []
        for start, length in sorted([*self.blocks, (offset, size)]):
            if merged and sum(merged[-1]) == start:
                merged[-1] = (merged[-1][0], merged[-1][1] + length)
            else:
                merged.append((start, length))
        self.blocks = merged
