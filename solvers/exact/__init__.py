"""The exact search of one pool, and the smaller and larger problems that help it."""
