"""Clients: the service from Python, and memplan inside of compilers, each in a module of its own."""
