"""The registration of MLIR: the planner that its bufferization uses for allocations of known size, no file format."""

from __future__ import annotations

from memplan.planner.systems import ReferencePlanner, System

SYSTEM = System(
    name="mlir",
    title="MLIR",
    planners=(
        ReferencePlanner(
            "reference:mlir-best-fit",
            "earliest first, into the smallest gap between what is alive (MLIR's static memory planner)",
            "llvm/llvm-project ae2d14a6, mlir/lib/Dialect/Bufferization/Transforms/StaticMemoryPlanning.cpp",
            "memplan.extensions.systems.mlir.planner:best_fit",
            other_names="llvm mlir static-memory-planner",
        ),
    ),
)
