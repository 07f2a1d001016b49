"""Commands about solvers and this machine."""
