"""memplan inside ExecuTorch: memory planning algorithms for its exporter."""
