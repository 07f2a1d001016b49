"""The search for cascades: it selects the operations that run together in stripes."""
