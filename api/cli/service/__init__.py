"""Commands of the service: its server, workers, keys and database."""
