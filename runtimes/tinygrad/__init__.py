"""tinygrad: the planner of its schedules."""
