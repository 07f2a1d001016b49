"""The kernel that improves orders of stacking for many values at once."""
