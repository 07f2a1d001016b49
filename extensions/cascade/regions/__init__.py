"""Cascades as data: regions of operations that run together in stripes, and the checks of these regions."""
