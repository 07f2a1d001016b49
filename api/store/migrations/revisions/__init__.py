"""The changes of the tables, each with the number after the one before."""
