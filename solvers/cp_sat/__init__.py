"""Constraint programming with OR-Tools: one NoOverlap for each live set of each pool."""
