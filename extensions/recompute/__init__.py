"""Recomputation: the search of `order --recompute` for programs that run operations again."""
