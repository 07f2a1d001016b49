"""memplan inside ExecuTorch: memory planning algorithms for its exporter, and orders of its edge programs."""
