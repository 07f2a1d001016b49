"""The search for cascades, which chooses the operations that run together in stripes."""
