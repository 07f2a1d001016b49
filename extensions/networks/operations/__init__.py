"""Programs of operations: their values and statements, and a builder for Python."""
