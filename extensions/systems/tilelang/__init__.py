"""TileLang for Ascend: kernels with the addresses that its pass gave their buffers."""
