"""Reasons why a problem does not fit: an irreducible set of buffers and rules that cannot all be satisfied."""
