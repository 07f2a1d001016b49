"""Plans for all values of the symbols: orders of stacking, what their offsets are, and proofs (docs/shapes.md).

A plan is an order of the buffers: each lies at the largest end of those before it that are alive with it. Of two that
are alive together the later begins at or above the end of the earlier, so nothing overlaps, whatever the sizes are.
"""
