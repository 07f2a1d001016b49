"""Repairs: the fewest changes that make a problem fit, each verified by a plan."""
