"""XNNPACK: the planner of its runtime."""
