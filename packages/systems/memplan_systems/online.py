"""Planners that are allocators: they see allocations and releases in the order of time, and nothing that comes."""

from __future__ import annotations

from typing import Protocol

from memplan.planner.model.problem import Problem
from memplan.solvers.reference.tensors import Placed, StopCheck, aligned, granule, tensors


class Allocator(Protocol):
    """Gives out ranges of bytes, and takes them back."""

    def allocate(self, size: int) -> int:
        """Return the offset of so many bytes, which are in use from now on."""

    def release(self, offset: int, size: int) -> None:
        """Take back what `allocate` returned."""


def place_online(problem: Problem, stop_check: StopCheck, block: int, allocator: Allocator) -> Placed:
    """Place in the order of starts, of equal ones as given; what ends at a time is released before what starts then.

    Sizes are rounded up to `block` bytes, and to what the alignments of the problem require.
    """
    rows = tensors(problem)
    unit = aligned(block, granule(problem, rows))
    events = sorted(
        [(tensor.start, True, k) for k, tensor in enumerate(rows) if tensor.start < tensor.end]
        + [(tensor.end, False, k) for k, tensor in enumerate(rows) if tensor.start < tensor.end]
    )
    offsets = [0] * len(rows)
    for _, starts, k in events:
        stop_check()
        size = aligned(rows[k].size, unit)
        if starts:
            offsets[k] = allocator.allocate(size)
        else:
            allocator.release(offsets[k], size)
    return Placed({tensor.position: (0, offset) for tensor, offset in zip(rows, offsets, strict=True)})


class FreeBlocks:
    """The free blocks of a memory without an end, in the order of offsets; neighbours are one."""

    def __init__(self) -> None:
        self.blocks: list[tuple[int, int]] = []
        """(offset, size) of those below `top`."""
        self.top = 0

    def take(self, k: int, size: int) -> int:
        """Return the offset of a block, whose first bytes are taken."""
        offset, whole = self.blocks[k]
        self.blocks[k : k + 1] = [(offset + size, whole - size)] if whole > size else []
        return offset

    def grow(self, size: int) -> int:
        """Return the offset of bytes that begin with the block below the top, or at it, where that block is another."""
        offset = self.top
        if self.blocks and sum(self.blocks[-1]) == self.top:
            offset, _ = self.blocks.pop()
        self.top = offset + size
        return offset

    def release(self, offset: int, size: int) -> None:
        """Add a block, and make one of it and its neighbours."""
        merged: list[tuple[int, int]] = []
        for start, length in sorted([*self.blocks, (offset, size)]):
            if merged and sum(merged[-1]) == start:
                merged[-1] = (merged[-1][0], merged[-1][1] + length)
            else:
                merged.append((start, length))
        self.blocks = merged
