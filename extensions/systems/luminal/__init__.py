"""luminal: the planner of its CUDA runtime's arena."""
