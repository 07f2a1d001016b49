"""The choice of a pool for each buffer: bounds, the best choices, and packings of them."""
