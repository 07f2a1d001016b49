"""Constraint programming with OR-Tools' CP-SAT, with one NoOverlap for each live set of each pool."""
