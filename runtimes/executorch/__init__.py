"""A reader of ExecuTorch programs with their memory plans, and a writer that replaces a program's plan."""
