"""Repairs: the fewest changes with which a problem fits, each verified by a plan."""
