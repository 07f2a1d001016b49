"""The exact search of one pool, and the smaller and larger problems that help it."""

MAX_LIFETIMES = 10_000
"""The most lifetimes of an instance that is searched, as pairs of those that meet are listed."""
