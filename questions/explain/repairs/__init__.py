"""Repairs: the smallest sets of changes with which a problem fits, each verified by a plan."""
