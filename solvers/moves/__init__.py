"""Buffers that move between pools: the program of their pieces without offsets, its bound, and the packing."""
