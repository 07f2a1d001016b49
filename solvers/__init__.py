"""Solvers: lower bounds, greedy packing, exact searches and external engines. One verifier checks every plan."""
