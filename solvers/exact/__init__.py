"""Exact searches: for one pool, for its cores (hard subsets of the buffers), and for tiny problems."""

MAX_LIFETIMES = 10_000
"""The limit of lifetimes for the exact search, which lists overlapping pairs."""
