"""Best fit over time, as in MLIR and ONNX Runtime: in order of start, each buffer gets the smallest gap that fits."""

from collections.abc import Iterable
from math import lcm

from memplan.planner.model.problem import Problem
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck, Tensor, align, tensor_alignment, tensors


def placed_by_start(problem: Problem, stop_check: StopCheck, block: int = 1) -> PlannerAnswer:
    """Return offsets of all buffers in the first pool, in order of start time; sizes are rounded up to `block` bytes.

    Each buffer gets the smallest gap between live buffers that is large enough. The last gap ends at the highest end so
    far.
    """
    placements: dict[int, tuple[int, int]] = {}
    alive: list[tuple[int, int, Tensor]] = []
    top = 0
    for tensor in sorted(tensors(problem, stop_check), key=lambda tensor: tensor.start):
        stop_check()
        alive = sorted((row for row in alive if row[2].end > tensor.start), key=lambda row: row[:2])
        size, each = align(tensor.size, block), lcm(tensor_alignment(problem, tensor, 0), block)
        offset = _best_fit_offset(((low, high) for low, high, _ in alive), size, each, top)
        placements[tensor.position] = 0, offset
        alive.append((offset, offset + size, tensor))
        top = max(top, offset + size)
    return PlannerAnswer(placements)


def _best_fit_offset(taken: Iterable[tuple[int, int]], size: int, each: int, top: int) -> int:
    """Return the start of the smallest gap between `taken` ranges that has space for `size` bytes.

    Starts are multiples of the alignment `each`. Of equal gaps, the lowest is chosen. The last gap ends at `top`. If no
    gap is large enough, the result is the end of the last range, rounded up.
    """
    at, gaps = 0, []
    for low, high in taken:
        gaps.append((low - align(at, each), align(at, each)))
        at = max(at, high)
    last = align(at, each)
    gaps.append((top - last, last))
    return min((gap for gap in gaps if gap[0] >= size and gap[0] > 0), default=(0, last))[1]
