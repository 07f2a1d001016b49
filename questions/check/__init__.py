"""The question `check`: compares a plan with budgets and a baseline, and lists the differences between plans."""
