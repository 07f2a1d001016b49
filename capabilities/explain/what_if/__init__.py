"""The worth of single changes: of each buffer, pool and rule, and of grids of changes."""
