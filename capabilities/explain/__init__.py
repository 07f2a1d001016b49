"""Explain: why a problem does not fit or a peak is what it is, and what would change that."""
