"""The plan cache: plans keyed by the hash of the canonical problem, translated to each caller's problem."""
