"""Asynchronous work: jobs, the workers that run them, and their events."""
