"""Checks for build systems: what a plan uses against budgets and against what it used before, and reports of that."""
