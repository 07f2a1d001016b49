"""Models whose operations were read: their graph, their names, and their file in another order."""
