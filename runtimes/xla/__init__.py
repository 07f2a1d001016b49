"""XLA: readers of its modules and buffer assignments, and its planner."""
