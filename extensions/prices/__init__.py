"""The price of sharing bytes: pieces of a problem, exact search, annealing, and clique cuts that prove lower bounds."""
