"""Packing of buffers in a given order, by a kernel of the core."""
