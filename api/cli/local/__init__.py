"""Commands with flags or output files that exist on the command line only, not in Python or over HTTP."""
