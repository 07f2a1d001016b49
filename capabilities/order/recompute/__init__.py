"""Recompute: operations that run again, so that what they make need not stay."""
