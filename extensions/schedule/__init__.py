"""Schedule: tiled operations through a fast memory, with the least time or traffic."""
