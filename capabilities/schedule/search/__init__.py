"""Schedules of tiled operations: the cost of a step in closed form, the search over steps, bounds, and placement."""
