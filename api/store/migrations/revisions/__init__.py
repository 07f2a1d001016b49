"""The changes of the tables, one module for each revision, numbered from 1."""
