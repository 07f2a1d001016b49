"""The question `check`: compare a plan with budgets and a baseline, and list the differences between plans."""
