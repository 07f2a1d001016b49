"""ExecuTorch's own memory planners, for comparison with memplan."""
