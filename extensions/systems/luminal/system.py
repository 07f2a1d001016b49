"""The registration of luminal: a first-fit planner like that of its arena, and no file format."""

from __future__ import annotations

from memplan.extensions.systems.online import FreeBlocks, place_online
from memplan.planner.model.problem import Problem
from memplan.planner.systems import ReferencePlanner, System
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck

_ALIGNMENT = 256


class _FirstFit(FreeBlocks):
    def allocate(self, size: int) -> int:
        fits = (k for k, (_, length) in enumerate(self.blocks) if length >= size)
        k = next(fits, None)
        return self.grow(size) if k is None else self.take(k, size)


def plan(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place buffers in time order, in blocks of 256 bytes, each in the lowest sufficient block, else at the top."""
    return place_online(problem, stop_check, _ALIGNMENT, _FirstFit())


SYSTEM = System(
    name="luminal",
    title="luminal",
    planners=(
        ReferencePlanner(
            "reference:luminal-arena",
            "over time, each into the lowest hole (luminal's arena)",
            "luminal-ai/luminal 051a0f94, crates/luminal_cuda_lite/src/arena.rs: plan_arena_over, FreeList",
            "memplan.extensions.systems.luminal.system:plan",
        ),
    ),
)
