"""Checks for build systems: a plan's memory use against budgets and against a baseline, and reports of them."""
