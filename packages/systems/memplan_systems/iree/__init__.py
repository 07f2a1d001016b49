"""IREE dumps."""
