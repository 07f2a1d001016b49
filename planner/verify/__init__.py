"""The verifier, which checks all rules on plans from the problem alone."""
