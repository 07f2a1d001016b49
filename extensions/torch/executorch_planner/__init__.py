"""The memory planners that ExecuTorch itself has, for comparison."""
