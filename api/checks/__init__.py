"""Checks for build systems: compare a plan's memory use with budgets and with a baseline, and report the result."""
