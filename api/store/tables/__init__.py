"""The statements on each table of the store."""
