"""Plans for all values of the symbols: stacking orders, their offsets, and proofs (docs/shapes.md).

A plan is an order of the buffers: each buffer starts at the largest end of the earlier buffers that are alive with it.
So of two buffers alive together, the later one starts at or above the end of the earlier one, and no bytes are shared,
for any sizes.
"""
