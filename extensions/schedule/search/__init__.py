"""Schedules of tiled operations: closed-form step costs, the search over steps, bounds, and placement."""
