"""Models with known operations: their graphs, their names for buffers and steps, and their reordered files."""
