"""Schedule: operations in tiles through a fast memory, with the least time or traffic."""
