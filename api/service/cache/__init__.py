"""Cached plans: kept by the hash of their problem in canonical form, and answered as plans of each caller's problem."""
