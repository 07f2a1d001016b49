"""Commands of the service: its server, keys, workers and database."""
