"""Placement in gaps, as in planners that sort buffers by size: each buffer gets a gap between live buffers."""

from __future__ import annotations

from collections.abc import Sequence

from memplan.planner.model.problem import Problem
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck, Tensor, align, common_alignment, tensors

Gap = tuple[int, int]
"""(size, offset) in bytes of a free range between two placed buffers."""


def aligned_tensors(problem: Problem) -> list[tuple[int, Tensor]]:
    """Return (size in bytes, tensor) for each tensor; sizes are rounded up to a multiple of all alignments."""
    rows = tensors(problem)
    unit = common_alignment(problem, rows)
    return [(align(tensor.size, unit), tensor) for tensor in rows]


def place_in_gaps(rows: Sequence[tuple[int, Tensor]], stop_check: StopCheck, *, smallest: bool) -> PlannerAnswer:
    """Place rows (size, tensor) in order, each in the lowest or smallest sufficient gap, else above live tensors."""
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
