"""Explain: why a problem does not fit or has its peak, and which changes would help."""
