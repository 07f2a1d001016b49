"""ONNX Runtime's memory pattern planner, which places buffers best-fit in time order in blocks of 256 bytes."""

from memplan.planner.model.problem import Problem
from memplan.solvers.reference.best_fit import placed_by_start
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck

_BLOCK = 256
"""The alignment in bytes to which ONNX Runtime rounds sizes and offsets, including those of declared workspaces."""


def memory_pattern(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place buffers by start time, each in the smallest gap that is large enough, in blocks of 256 bytes.

    Source: microsoft/onnxruntime, onnxruntime/core/framework/mem_pattern_planner.h: TraceAllocation. Workspaces that
    kernels declare (pull request 32071) are ordinary buffers, alive while their node runs.
    """
    return placed_by_start(problem, stop_check, _BLOCK)
