"""The question `check`: budgets, a baseline, and the differences between two plans."""
