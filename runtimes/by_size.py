"""Planners that sort buffers by size, and place each buffer in a gap between live buffers."""

from collections.abc import Sequence

from memplan.planner.model.problem import Problem
from memplan.runtimes.std_sort import std_sorted
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck, Tensor, align, common_alignment, tensors

Gap = tuple[int, int]
"""(size, offset) in bytes of a free range between two placed buffers."""


def aligned_tensors(problem: Problem) -> list[tuple[int, Tensor]]:
    """Return (size in bytes, tensor) for each tensor, with the size rounded up to a multiple of all alignments."""
    rows = tensors(problem)
    unit = common_alignment(problem, rows)
    return [(align(tensor.size, unit), tensor) for tensor in rows]


def place_in_gaps(rows: Sequence[tuple[int, Tensor]], stop_check: StopCheck, *, smallest: bool) -> PlannerAnswer:
    """Place tensors in the order of the rows (size, tensor), each in a gap between live tensors, else above them.

    If `smallest`, the smallest sufficient gap is used, else the lowest one.
    """
    done: list[tuple[int, int, Tensor]] = []
    for size, tensor in rows:
        stop_check()
        end, gaps = 0, list[Gap]()
        for offset, length, _ in sorted((row for row in done if row[2].meets(tensor)), key=lambda row: row[:2]):
            if offset - end >= size:
                gaps.append((offset - end, end))
            end = max(end, offset + length)
        first = min(gaps) if smallest and gaps else gaps[0] if gaps else (0, end)
        done.append((first[1], size, tensor))
    return PlannerAnswer({tensor.position: (0, offset) for offset, _, tensor in done})


def place_as_openvino(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place buffers by descending size, each as low as possible; equal sizes are ordered by start and end."""
    rows = std_sorted(aligned_tensors(problem), lambda a, b: (a[1].start, a[1].end) < (b[1].start, b[1].end))
    return place_in_gaps(std_sorted(rows, lambda a, b: a[0] > b[0]), stop_check, smallest=False)


def place_as_ttlang(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place buffers by descending size in the lowest gaps; of two orders of equal sizes, return the lower plan.

    Equal sizes are ordered as in the problem or by descending number of conflicts.
    """
    rows = aligned_tensors(problem)
    degree = {
        tensor.position: sum(tensor.meets(other) for _, other in rows if other is not tensor) for _, tensor in rows
    }
    by_size = place_in_gaps(sorted(rows, key=lambda row: -row[0]), stop_check, smallest=False)
    by_degree = sorted(rows, key=lambda row: (-row[0], -degree[row[1].position]))
    other = place_in_gaps(by_degree, stop_check, smallest=False)

    def peak(placed: PlannerAnswer) -> int:
        return max((placed.placements[tensor.position][1] + size for size, tensor in rows), default=0)

    return other if peak(other) < peak(by_size) else by_size


def place_as_xnnpack(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place buffers in descending order of size in the smallest gaps; ties keep their order, as in glibc's qsort."""
    return place_in_gaps(sorted(aligned_tensors(problem), key=lambda row: -row[0]), stop_check, smallest=True)
