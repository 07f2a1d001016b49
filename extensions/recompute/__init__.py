"""Recomputation: the search of `order --recompute`, which runs operations again instead of keeping their results."""
