"""Best fit in time order and in whole blocks, like ONNX Runtime's memory patterns."""

from __future__ import annotations

from memplan.planner.model.problem import Problem
from memplan.solvers.reference.best_fit import placed_by_start
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck

_BLOCK = 256
"""The block to which ONNX Runtime rounds sizes and offsets, in bytes, including declared workspaces."""


def memory_pattern(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place buffers by start, in whole blocks of 256 bytes, into the smallest gap between live ones.

    Source: microsoft/onnxruntime, onnxruntime/core/framework/mem_pattern_planner.h: TraceAllocation; workspaces that
    kernels declare (pull request 32071) are buffers like others, alive while their node runs.
    """
    return placed_by_start(problem, stop_check, _BLOCK)
