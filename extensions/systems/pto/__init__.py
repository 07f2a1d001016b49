"""PTO: a reader of kernels as printed by PTOAS, and a writer of their tiles' addresses."""
