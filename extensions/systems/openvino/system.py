"""OpenVINO: `ov::MemorySolver`, which places the largest buffers first, each as low as possible."""

from __future__ import annotations

from memplan.extensions.systems.by_size import place_in_gaps, sized
from memplan.extensions.systems.std_sort import std_sorted
from memplan.planner.model.problem import Problem
from memplan.planner.systems import ReferencePlanner, System
from memplan.solvers.reference.tensors import Placed, StopCheck

_SOURCE = "openvinotoolkit/openvino 138a71f0, src/inference/dev_api/openvino/runtime/memory_solver.hpp"


def plan(problem: Problem, seed: int, stop_check: StopCheck) -> Placed:
    """Sort by start and end, then by size with `std::sort`'s order of equal ones; place each as low as possible."""
    rows = std_sorted(sized(problem), lambda a, b: (a[1].start, a[1].end) < (b[1].start, b[1].end))
    return place_in_gaps(std_sorted(rows, lambda a, b: a[0] > b[0]), stop_check, smallest=False)


SYSTEM = System(
    name="openvino",
    title="OpenVINO",
    planners=(
        ReferencePlanner(
            "reference:openvino-memory-solver",
            "largest first, each as low as it can lie (OpenVINO's MemorySolver)",
            _SOURCE,
            "memplan.extensions.systems.openvino.system:plan",
        ),
    ),
)
