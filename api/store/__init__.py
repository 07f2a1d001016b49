"""The database of the service: jobs, their events, plans and keys, in SQLite or PostgreSQL."""
