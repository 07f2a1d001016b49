"""The question `compare`: the plan of a model's own planner compared with memplan's."""
