"""Programs of operations: the values, their statements, and a builder for Python."""
