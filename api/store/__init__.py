"""The database: jobs, their events, plans and keys, in SQLite or PostgreSQL."""
