"""Benchmarks of solvers and other planners on suites of problems, also on the machines of a cluster."""
