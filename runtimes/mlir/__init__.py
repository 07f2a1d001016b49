"""MLIR: the static memory planner of its bufferization."""
