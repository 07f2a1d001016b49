"""The exact search for one pool, with two searches that use the same idea: one for cores, one for tiny problems."""

MAX_LIFETIMES = 10_000
"""The limit of lifetimes for the exact search, which lists overlapping pairs."""
