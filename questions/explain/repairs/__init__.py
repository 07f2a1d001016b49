"""Repairs: the smallest sets of changes that make a problem fit, each proved by a verified plan."""
