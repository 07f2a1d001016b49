"""Models whose operations are known: their graphs, the names in them, and their files in another order."""
