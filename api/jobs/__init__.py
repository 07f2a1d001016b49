"""Asynchronous work: jobs, their workers and their events."""
