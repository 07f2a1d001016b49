"""The exact search for one pool, and searches of parts and of tiny problems that support it."""

MAX_LIFETIMES = 10_000
"""The most lifetimes of an instance for the exact search, which lists overlapping pairs."""
