"""The search for cascades, which selects the operations to run together and the stripes in which they run."""
