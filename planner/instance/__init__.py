"""Instances: problems compiled to the numeric columns that solvers read, and the canonical form of a problem."""
