"""The routes, one module for each call."""
