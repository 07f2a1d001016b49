"""Cascade: operations run in stripes; the memory that this saves and what it costs, each point a verified plan."""
