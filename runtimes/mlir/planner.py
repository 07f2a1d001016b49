"""MLIR's static memory planner: best fit in time order."""

from memplan.planner.model.problem import Problem
from memplan.solvers.reference.best_fit import placed_by_start
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck


def best_fit(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place buffers by start time, each with its own alignment, in the smallest sufficient gap between live buffers.

    Source: llvm/llvm-project ae2d14a6, mlir/lib/Dialect/Bufferization/Transforms/StaticMemoryPlanning.cpp:
    bestFitMemoryPlanner (pull request 207403).
    """
    return placed_by_start(problem, stop_check)
