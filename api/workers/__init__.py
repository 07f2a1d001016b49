"""Work in child processes: one pool for requests and jobs."""
