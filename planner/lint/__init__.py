"""Findings: what a problem, a list or a plan of another system most likely does not mean."""
