"""Kernels of the search for cascades: ranges, growing of regions, fronts."""
