"""The kernels that pack: buffers in an order to their lowest legal offsets, and all quick orders in one call."""
