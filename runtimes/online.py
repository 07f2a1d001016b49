"""Planners that work like an allocator: they serve allocations and releases in time order, without lookahead."""

from typing import Protocol

from memplan.planner.model.problem import Problem
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck, align, common_alignment, tensors


class Allocator(Protocol):
    """The interface of an allocator, which allocates and frees ranges of bytes."""

    def allocate(self, size: int) -> int:
        """Allocate `size` bytes and return their offset."""

    def release(self, offset: int, size: int) -> None:
        """Free the `size` bytes at an offset that `allocate` returned."""


def place_online(problem: Problem, stop_check: StopCheck, block: int, allocator: Allocator) -> PlannerAnswer:
    """Place buffers with an allocator in order of start time; at equal times, releases precede allocations.

    Buffers that start at the same time keep the problem's order. Sizes are rounded up to multiples of `block` bytes and
    of the problem's alignments.
    """
    rows = tensors(problem)
    unit = align(block, common_alignment(problem, rows))
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
    """The free blocks of an unlimited memory, in ascending order of offset; adjacent free blocks are merged."""

    def __init__(self) -> None:
        """Start with an empty memory, in which no byte is used yet."""
        self.blocks: list[tuple[int, int]] = []
        """(offset, size) of each free block below `top`, the end of the used memory."""
        self.top = 0

    def take(self, k: int, size: int) -> int:
        """Allocate the first `size` bytes of free block number `k`, and return their offset."""
        offset, whole = self.blocks[k]
        self.blocks[k : k + 1] = [(offset + size, whole - size)] if whole > size else []
        return offset

    def grow(self, size: int) -> int:
        """Allocate `size` bytes at the top, including a free block there; return the offset, and raise the top."""
        offset = self.top
        if self.blocks and sum(self.blocks[-1]) == self.top:
            offset, _ = self.blocks.pop()
        self.top = offset + size
        return offset

    def release(self, offset: int, size: int) -> None:
        """Add a free block, and merge it with adjacent free blocks."""
        merged: list[tuple[int, int]] = []
        for start, length in sorted([*self.blocks, (offset, size)]):
            if merged and sum(merged[-1]) == start:
                merged[-1] = (merged[-1][0], merged[-1][1] + length)
            else:
                merged.append((start, length))
        self.blocks = merged


class _FirstFit(FreeBlocks):
    def allocate(self, size: int) -> int:
        """Return the offset of the lowest sufficient free block, or allocate at the top."""
        fits = (k for k, (_, length) in enumerate(self.blocks) if length >= size)
        k = next(fits, None)
        return self.grow(size) if k is None else self.take(k, size)


def place_as_luminal(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place buffers in time order, in blocks of 256 bytes, each in the lowest sufficient block, else at the top."""
    return place_online(problem, stop_check, 256, _FirstFit())
