"""The portfolio: the solvers to run, with their order, time shares and starting plans."""
