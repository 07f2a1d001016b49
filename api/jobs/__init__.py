"""Asynchronous work: jobs, the workers that run jobs, and events that report on jobs."""
