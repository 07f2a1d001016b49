"""Processes and sockets: how the server listens and how it ends."""
