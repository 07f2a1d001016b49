"""The portfolio: which solvers run, in which order, for how long, and from which start."""
