"""The verifier, which checks every rule on plans by reading the problem alone."""
