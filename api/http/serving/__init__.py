"""Processes and sockets: what listens, and how it ends."""
