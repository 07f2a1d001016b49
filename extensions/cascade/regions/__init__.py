"""Cascades as data: regions of operations that run together in stripes, and checks of such regions."""
