"""The plan cache: plans by the hash of the canonical problem, translated to each caller's problem."""
