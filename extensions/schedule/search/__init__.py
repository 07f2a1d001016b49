"""The search for schedules of tiled operations: costs in closed form, steps, lower bounds, and placement."""
