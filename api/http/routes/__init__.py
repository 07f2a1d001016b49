"""The routes of the service, one module per group of calls."""
