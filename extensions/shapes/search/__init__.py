"""Plans for all values of the symbols: orders of stacking, their offsets, and proofs (docs/shapes.md).

A plan is an order of the buffers: each begins at the largest end of the earlier buffers that are alive with it. Of two
buffers alive together, the later begins at or above the end of the earlier, so nothing overlaps, whatever the sizes
are.
"""
