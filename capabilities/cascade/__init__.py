"""Cascade: operations in stripes, what that saves and what it costs, each point a verified plan."""
