"""ggml's graph allocator: over time, each into the smallest free block, of equal ones the highest."""

from __future__ import annotations

from memplan.planner.model.problem import Problem
from memplan.solvers.reference.tensors import Placed, StopCheck
from memplan_systems.online import FreeBlocks, place_online

ALIGNMENT = 32
"""The bytes that its CPU backend rounds sizes and offsets to."""


class _BestFit(FreeBlocks):
    def allocate(self, size: int) -> int:
        """Take the smallest block; the last one, which has no end, only where none is large enough."""
        last = len(self.blocks) - 1 if self.blocks and sum(self.blocks[-1]) == self.top else len(self.blocks)
        fits = [(length, -k) for k, (_, length) in enumerate(self.blocks[:last]) if length >= size]
        if fits:
            return self.take(-min(fits)[1], size)
        if last < len(self.blocks) and self.blocks[last][1] >= size:
            return self.take(last, size)
        return self.grow(size)


def best_fit(problem: Problem, seed: int, stop_check: StopCheck) -> Placed:
    """Place as ggml does in one chunk.

    Source: ggml-org/ggml d99724f2, src/ggml-alloc.c: ggml_dyn_tallocr_alloc, ggml_dyn_tallocr_free_bytes.
    """
    return place_online(problem, stop_check, ALIGNMENT, _BestFit())
