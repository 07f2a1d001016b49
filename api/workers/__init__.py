"""Work in child processes: one pool of them, for what is answered within a request and for jobs."""
