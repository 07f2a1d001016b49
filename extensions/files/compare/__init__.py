"""The question `compare`: a model's memory as planned by its own runtime, compared with a plan of memplan."""
