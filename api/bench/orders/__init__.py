"""Orders of operations beside those of peers: `memplan bench GRAPHS --solvers order,inductor-lpmf,…`."""
