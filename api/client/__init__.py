"""Clients of the service in Python, blocking and asynchronous."""
