"""What must not be lost: jobs, their events, plans and keys, in SQLite or PostgreSQL."""
