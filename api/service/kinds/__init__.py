"""The kinds of jobs beside plans: each has a call that waits, and jobs, from one entry of the registry."""
