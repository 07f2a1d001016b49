"""Work in child processes, which one pool runs for both requests and jobs."""
