"""TileLang for Ascend: a reader of kernels with the addresses that a compiler pass gave their buffers."""
