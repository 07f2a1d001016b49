"""Exact searches: for one pool, for its cores (hard subsets of the buffers), and for tiny problems."""

from memplan.planner.instance.instance import PLAIN

MAX_LIFETIMES = 10_000
"""The limit of lifetimes for the exact search, which lists overlapping pairs."""

FEATURES = frozenset(PLAIN) - {"pools", "cost"} | {"clearances", "intervals"}
"""The features of instances that the exact search supports."""
