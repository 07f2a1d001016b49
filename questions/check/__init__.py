"""Check: budgets, a baseline, and the differences between two plans."""
