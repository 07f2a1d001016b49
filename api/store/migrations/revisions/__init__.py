"""The changes of the tables: one module per revision, numbered from 1."""
