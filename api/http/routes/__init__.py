"""One module a call."""
