"""TileLang for Ascend: a reader of kernels whose buffers have addresses from a compiler pass."""
