"""Plans for all values of the symbols: stacking orders, the offsets that follow from them, and proofs (docs/shapes.md).

A plan is an order of the buffers: each buffer starts at the largest end of the earlier buffers that are alive with it.
So, of two buffers that are alive together, the later one starts at or above the end of the earlier one. They share no
bytes, whatever the sizes are.
"""
