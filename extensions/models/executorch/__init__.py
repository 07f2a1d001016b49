"""ExecuTorch programs, read with their plan, and written with another one."""
