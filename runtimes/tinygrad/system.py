"""The registration of tinygrad: its planner `memory_plan_rewrite`, an allocator with two levels of size classes."""

from collections import defaultdict

from memplan.planner.model.problem import Problem
from memplan.planner.systems import ReferencePlanner, System
from memplan.runtimes.online import place_online
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck, align, common_alignment, tensors

_BLOCK = 256
_LEVELS = 6
"""The number of leading bits of a size that determine its class, so each power of two has 2^5 classes."""


class _SizeClasses:
    """An allocator with size classes for `size` bytes of memory; a class reuses its blocks in order of release."""

    def __init__(self, size: int) -> None:
        """Start with one free block that covers the whole memory."""
        self.free: dict[tuple[int, int], list[int]] = defaultdict(list)
        self.sizes = {0: size}
        self.before: dict[int, int | None] = {0: None}
        self.is_free = {0}
        self.free[_size_class(size)].append(0)

    def allocate(self, size: int) -> int:
        """Return the offset of a new block in the smallest size class with a sufficient free block."""
        size = max(size, _BLOCK)
        least = _size_class(align(size, 1 << size.bit_length() - _LEVELS))
        at = self.free[min(each for each, blocks in self.free.items() if blocks and each >= least)][0]
        whole = self.sizes[at]
        self._remove_free_block(at)
        if whole > size:
            self._set_predecessor(at, whole, at + size)
            self.sizes[at] = size
            self.before[at + size] = at
            self._add_free_block(at + size, whole - size)
        return at

    def release(self, offset: int, size: int) -> None:
        """Free a block, and merge it with the free blocks before and after it."""
        self.is_free.add(offset)
        whole, at = max(size, _BLOCK), offset
        after = offset + whole
        while (before := self.before[at]) is not None and before in self.is_free:
            at, whole = before, whole + self.sizes[before]
        while after in self.is_free:
            whole, after = whole + self.sizes[after], after + self.sizes[after]
        k = at
        while k < after:
            step = self.sizes[k]
            if k != offset:
                self._remove_free_block(k)
            if k != at:
                del self.sizes[k], self.before[k]
            self.is_free.discard(k)
            k += step
        self._set_predecessor(at, whole, at)
        self._add_free_block(at, whole)

    def _remove_free_block(self, at: int) -> None:
        self.free[_size_class(self.sizes[at])].remove(at)
        self.is_free.remove(at)

    def _add_free_block(self, at: int, size: int) -> None:
        self.sizes[at] = size
        self.free[_size_class(size)].append(at)
        self.is_free.add(at)

    def _set_predecessor(self, at: int, size: int, before: int) -> None:
        if at + size in self.sizes:
            self.before[at + size] = before


def _size_class(size: int) -> tuple[int, int]:
    bits = size.bit_length()
    return bits, (size - (1 << bits - 1)) // (1 << max(0, bits - _LEVELS))


def plan(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place buffers in time order, in blocks of 256 bytes, each in the smallest size class with a sufficient block."""
    rows = tensors(problem)
    unit = align(_BLOCK, common_alignment(problem, rows))
    room = 2 * sum(max(align(row.size, unit), _BLOCK) for row in rows)
    return place_online(problem, stop_check, _BLOCK, _SizeClasses(room or _BLOCK))


SYSTEM = System(
    name="tinygrad",
    title="tinygrad",
    planners=(
        ReferencePlanner(
            "reference:tinygrad-tlsf",
            "over time, from two levels of size classes (tinygrad's memory_plan_rewrite)",
            "tinygrad/tinygrad a9069c17, tinygrad/schedule/memory.py: memory_plan_rewrite, and its TLSFAllocator",
            "memplan.runtimes.tinygrad.system:plan",
        ),
    ),
)
