"""Commands about the solvers and about this installation of memplan."""
