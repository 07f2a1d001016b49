"""Instances: a problem compiled to the columns that solvers read, in units, with its canonical form."""
