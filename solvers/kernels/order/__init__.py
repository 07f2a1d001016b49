"""Compiled searches of orders of operations."""
