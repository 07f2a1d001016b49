"""Commands with flags or output files that exist only on the command line, not in Python or over HTTP."""
