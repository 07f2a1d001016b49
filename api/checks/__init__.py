"""Checks for build systems: comparison of a plan's memory use with budgets and a baseline, and reports of results."""
