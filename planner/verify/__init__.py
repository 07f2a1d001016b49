"""The verifier: every rule that a plan must keep, checked on the problem alone."""
