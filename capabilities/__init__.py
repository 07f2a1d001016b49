"""Capabilities: each question that memplan answers, defined once for Python, the command, HTTP, jobs and clients."""
