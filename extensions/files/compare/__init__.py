"""The question `compare`: the plan of a model's own runtime compared with the plan of memplan."""
