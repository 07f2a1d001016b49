"""Clients: the service from Python, and memplan inside compilers, one module each."""
