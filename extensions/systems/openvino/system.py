"""The registration of OpenVINO: its planner `ov::MemorySolver`, which places the largest buffers first."""

from __future__ import annotations

from memplan.extensions.systems.by_size import aligned_tensors, place_in_gaps
from memplan.extensions.systems.std_sort import std_sorted
from memplan.planner.model.problem import Problem
from memplan.planner.systems import ReferencePlanner, System
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck

_SOURCE = "openvinotoolkit/openvino 138a71f0, src/inference/dev_api/openvino/runtime/memory_solver.hpp"


def plan(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place buffers in descending order of size, each as low as possible; ties by start and end, as in `std::sort`."""
    rows = std_sorted(aligned_tensors(problem), lambda a, b: (a[1].start, a[1].end) < (b[1].start, b[1].end))
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
