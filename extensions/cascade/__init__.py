"""Cascades: operations that run together in stripes, which saves memory at the cost of some extra work."""
