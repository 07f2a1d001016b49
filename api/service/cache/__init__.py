"""The plan cache: plans by the hash of the canonical problem, translated for each caller's own problem."""
