"""Cascades as data: regions of operations that run in stripes together; and the checks of them."""
