"""The registration of XNNPACK: the planner that its runtime calls when shapes change."""

from __future__ import annotations

from memplan.extensions.systems.by_size import aligned_tensors, place_in_gaps
from memplan.planner.model.problem import Problem
from memplan.planner.systems import ReferencePlanner, System
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck


def plan(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place buffers in descending order of size in the smallest gaps; ties keep their order, as in glibc's qsort."""
    return place_in_gaps(sorted(aligned_tensors(problem), key=lambda row: -row[0]), stop_check, smallest=True)


SYSTEM = System(
    name="xnnpack",
    title="XNNPACK",
    planners=(
        ReferencePlanner(
            "reference:xnnpack-memory-planner",
            "largest first, each into the smallest gap (XNNPACK's runtime)",
            "google/XNNPACK 75db3c09, src/memory-planner.c: xnn_plan_value_allocation_tracker",
            "memplan.extensions.systems.xnnpack.system:plan",
        ),
    ),
)
