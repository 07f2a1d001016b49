"""Requests: their bodies, and what they ask for."""
