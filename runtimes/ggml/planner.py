"""ggml's graph allocator: in time order, each tensor gets the smallest sufficient free block.

Of several blocks of that size, the last one is used.
"""

from memplan.planner.model.problem import Problem
from memplan.runtimes.online import FreeBlocks, place_online
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck

ALIGNMENT = 32
"""The number of bytes to whose multiples ggml's CPU backend rounds sizes and offsets."""


class _BestFit(FreeBlocks):
    def allocate(self, size: int) -> int:
        """Return the offset of the smallest sufficient block; the unlimited last block is used only if needed."""
        last = len(self.blocks) - 1 if self.blocks and sum(self.blocks[-1]) == self.top else len(self.blocks)
        fits = [(length, -k) for k, (_, length) in enumerate(self.blocks[:last]) if length >= size]
        if fits:
            return self.take(-min(fits)[1], size)
        if last < len(self.blocks) and self.blocks[last][1] >= size:
            return self.take(last, size)
        return self.grow(size)


def best_fit(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place tensors as ggml's allocator does within a single chunk of memory.

    Source: ggml-org/ggml d99724f2, src/ggml-alloc.c: ggml_dyn_tallocr_alloc, ggml_dyn_tallocr_free_bytes.
    """
    return place_online(problem, stop_check, ALIGNMENT, _BestFit())
