"""Commands about solvers and the local machine."""
