"""The search for plans that are valid for all values of the symbols, with the proofs of their peaks (docs/shapes.md).

A plan is an order of the buffers: each buffer starts at the largest end of the earlier buffers that are alive with it.
So, of two buffers that are alive together, the later one starts at or above the end of the earlier one. They share no
bytes, whatever the sizes are.
"""
