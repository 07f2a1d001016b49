"""A reader of ExecuTorch programs with their memory plans, and a writer that replaces such a plan."""
