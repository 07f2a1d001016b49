"""PTO: a reader of kernels as PTOAS prints them, and a writer of the addresses of their tiles."""
