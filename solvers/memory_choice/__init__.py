"""The choice of a pool for each buffer: bounds for the choice, the best choices, and packings of them."""
