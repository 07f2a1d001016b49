"""Best fit in time order, like MLIR's static memory planner: each buffer goes to the smallest gap between live ones.

Gaps are counted up to the end of all that was ever placed; where none is large enough, a buffer lies behind what is
alive.
"""

from __future__ import annotations

from collections.abc import Iterable

from memplan.planner.model.problem import Problem
from memplan.solvers.reference.tensors import Placed, StopCheck, Tensor, aligned, step, tensors


def best_fit(problem: Problem, seed: int, stop_check: StopCheck) -> Placed:
    """Place buffers by start time, each at its own alignment.

    Source: llvm/llvm-project ae2d14a6, mlir/lib/Dialect/Bufferization/Transforms/StaticMemoryPlanning.cpp:
    bestFitMemoryPlanner (pull request 207403).
    """
    placements: dict[int, tuple[int, int]] = {}
    alive: list[tuple[int, int, Tensor]] = []
    top = 0
    for tensor in sorted(tensors(problem, stop_check), key=lambda tensor: tensor.start):
        stop_check()
        alive = sorted((row for row in alive if row[2].end > tensor.start), key=lambda row: row[:2])
        size, each = tensor.size, step(problem, tensor, 0)
        offset = _offset(((low, high) for low, high, _ in alive), size, each, top)
        placements[tensor.position] = 0, offset
        alive.append((offset, offset + size, tensor))
        top = max(top, offset + size)
    return Placed(placements)


def _offset(taken: Iterable[tuple[int, int]], size: int, each: int, top: int) -> int:
    """Return the start of the smallest sufficient gap, the lowest of equal ones."""
    at, gaps = 0, []
    for low, high in taken:
        gaps.append((low - aligned(at, each), aligned(at, each)))
        at = max(at, high)
    last = aligned(at, each)
    gaps.append((top - last, last))
    return min((gap for gap in gaps if gap[0] >= size and gap[0] > 0), default=(0, last))[1]
