"""The registration of tt-lang: `SRAMAllocator` with its default strategy `multi-order-decreasing`."""

from __future__ import annotations

from memplan.extensions.systems.by_size import aligned_tensors, place_in_gaps
from memplan.planner.model.problem import Problem
from memplan.planner.systems import ReferencePlanner, System
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck


def plan(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place buffers by size in the lowest gaps, with ties in two orders; return the plan with the lower peak."""
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


SYSTEM = System(
    name="ttlang",
    title="tt-lang",
    planners=(
        ReferencePlanner(
            "reference:ttlang-multi-order-decreasing",
            "largest first, each into the lowest gap; equal sizes in two orders (tt-lang's SRAMAllocator)",
            "tenstorrent/tt-lang pull request 1025, SRAMAllocator: MultiOrderDecreasingAllocator",
            "memplan.extensions.systems.ttlang.system:plan",
            other_names="tt-lang tenstorrent",
        ),
    ),
)
