"""One module a version of the tables, each with what leads to it from the one before."""
