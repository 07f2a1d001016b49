"""The search for cascades: which operations run together in stripes."""
