"""The exact search for one pool, and the searches of cores and of tiny problems that support it."""

MAX_LIFETIMES = 10_000
"""The limit of lifetimes for the exact search, which lists overlapping pairs."""
