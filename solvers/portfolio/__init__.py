"""Solving: which solvers run, in which order, for how long, and what they start from."""
