"""The search for schedules of tiled operations: closed-form costs, steps, bounds, and placement."""
