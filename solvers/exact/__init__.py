"""The exact search for one pool, and the smaller and larger problems that support it."""

MAX_LIFETIMES = 10_000
"""The most lifetimes of a searched instance, since overlapping pairs are listed."""
