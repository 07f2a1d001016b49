"""Packers: offsets for buffers in a given order, in Python or compiled."""
