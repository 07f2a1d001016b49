"""Best fit in time, as MLIR's bufferization and ONNX Runtime's patterns have it."""

from __future__ import annotations

import pytest

from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.solve import solve


@pytest.mark.parametrize(
    ("planner", "rows", "expected"),
    [
        # The gap of 2 bytes is smaller than that of 4, though it lies higher.
        ("mlir-best-fit", [(4, 0, 1), (3, 0, 9), (2, 0, 1), (3, 0, 9), (2, 1, 2)], [0, 4, 7, 9, 7]),
        # Behind all that is alive there is room up to the end of what was ever placed.
        ("mlir-best-fit", [(4, 0, 9), (4, 0, 1), (3, 1, 2), (2, 1, 2)], [0, 4, 4, 7]),
        # What starts earlier is placed earlier, so that a large buffer that comes late lies on top.
        ("mlir-best-fit", [(2, 0, 2), (2, 1, 3), (8, 2, 4)], [0, 2, 4]),
        ("onnxruntime-memory-pattern", [(1, 0, 2), (300, 0, 1), (200, 1, 2)], [0, 256, 256]),
    ],
)
def test_what_starts_earlier_takes_the_smallest_gap(
    planner: str, rows: list[tuple[int, int, int]], expected: list[int]
) -> None:
    buffers = [{"id": k, "size": size, "start": start, "end": end} for k, (size, start, end) in enumerate(rows)]
    plan = solve(Problem.model_validate({"buffers": buffers}), solver=f"reference:{planner}")
    assert plan.placements.offset.tolist() == expected
