"""Commands that run and administer the service: its server, workers, keys and database."""
