"""TFLite Micro's greedy planner, which places the largest buffer first, each in the lowest sufficient gap.

Source: tensorflow/tflite-micro 17bebc092249, tensorflow/lite/micro/memory_planner/greedy_memory_planner.cc
(GreedyMemoryPlanner::CalculateOffsetsIfNeeded, ReverseSortInPlace). Its caller, micro_allocator.cc, rounds sizes up to
16 bytes. Here, sizes are rounded up to the alignments that the problem requires, so that offsets respect them.
"""

from bisect import insort
from collections.abc import Sequence

from memplan.planner.model.problem import Problem
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck, Tensor, align, common_alignment, tensors

PlacedTensor = tuple[int, int, Tensor]
"""A placed tensor: (offset, rounded size, tensor)."""


def plan_greedily(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Return the offset of each tensor, placed largest first in the lowest sufficient gap; capacities are ignored."""
    rows = tensors(problem)
    unit = common_alignment(problem, rows)
    by_offset: list[PlacedTensor] = []
    for tensor in _placement_order(rows, unit):
        stop_check()
        size = align(tensor.size, unit)
        offset = _first_gap(by_offset, tensor, size) if tensor.offset is None else tensor.offset
        insort(by_offset, (offset, size, tensor), key=lambda held: held[0])
    return PlannerAnswer({tensor.position: (0, offset) for offset, _, tensor in by_offset})


def _placement_order(found: Sequence[Tensor], unit: int) -> list[Tensor]:
    """Return the tensors in the order of placement: first those with a fixed offset, then the others, largest first.

    Of tensors of equal size, the last one is placed first: the original fills its list from the end, and sorts it
    stably.
    """
    planned = [tensor for tensor in found if tensor.offset is not None]
    others = [tensor for tensor in reversed(found) if tensor.offset is None]
    return planned + sorted(others, key=lambda tensor: -align(tensor.size, unit))


def _first_gap(by_offset: Sequence[PlacedTensor], tensor: Tensor, size: int) -> int:
    end = 0
    for offset, length, other in by_offset:
        if not other.meets(tensor):
            continue
        if offset - end >= size:
            break
        end = max(end, offset + length)
    return end
