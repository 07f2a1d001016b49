"""Commands about solvers and about the installation on this machine."""
