"""Checks for build systems: the memory use of a plan against budgets and a baseline, and reports of the checks."""
