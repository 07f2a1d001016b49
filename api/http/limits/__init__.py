"""Limits of what one request, and one caller, may ask of a server."""
