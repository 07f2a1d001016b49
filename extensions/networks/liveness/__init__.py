"""Liveness: lifetimes from operations, and their shadow execution."""
