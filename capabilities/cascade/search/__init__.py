"""Cascades: operations run in stripes, together, so that only edges of tensors are kept."""
