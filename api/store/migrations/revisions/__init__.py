"""The changes of the tables, each with the next number."""
