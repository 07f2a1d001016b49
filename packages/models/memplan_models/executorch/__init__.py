"""ExecuTorch: its programs, read with the plan that they have, and written with another."""
