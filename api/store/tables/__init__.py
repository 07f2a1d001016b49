"""The SQL statements of the store, one module per table."""
