"""The exact search of one memory, and the smaller and larger problems that help it."""
