"""Recomputation: the search of `order --recompute` for programs that run some operations again to save memory."""
