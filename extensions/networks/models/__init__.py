"""Models whose operations are known: their graphs, their names, and their files with reordered operations."""
