"""The SQL statements for each table of the store."""
