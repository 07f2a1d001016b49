"""Cascades: operations run together in stripes, which saves memory for some extra work, with a plan for each point."""
