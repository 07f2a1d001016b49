"""Reader of ExecuTorch programs with their memory plans, and writer that replaces such a plan."""
