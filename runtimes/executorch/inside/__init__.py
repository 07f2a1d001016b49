"""memplan inside ExecuTorch: memory planning algorithms for its exporter, and better orders of operations."""
