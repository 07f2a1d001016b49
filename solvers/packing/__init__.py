"""Packing: offsets for buffers in a given order, by a kernel."""
