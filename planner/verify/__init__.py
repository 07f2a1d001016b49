"""The verifier, which checks plans against all rules from the problem alone, without code of the solvers."""
