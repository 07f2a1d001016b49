"""luminal: the arena of its CUDA runtime."""
