"""Instances: problems compiled to the columns of numbers that solvers read, and their canonical form."""
