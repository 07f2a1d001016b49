"""Constraint programming with CP-SAT of OR-Tools: one NoOverlap constraint per live set and pool."""
