"""Commands of the service, and its keys and workers."""
