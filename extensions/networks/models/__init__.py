"""Models with known operations: their graphs, the names in them, and their files with reordered operations."""
