"""Cadence: dumps of its memory plans, and its own planner."""
