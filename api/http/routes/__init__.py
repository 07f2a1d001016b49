"""The routes of the service, grouped into a module for each kind of call."""
