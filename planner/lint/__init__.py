"""Findings: what a problem or a graph most likely does not mean."""
