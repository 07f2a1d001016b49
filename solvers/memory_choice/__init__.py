"""The choice of a pool for each buffer: bounds, the cheapest choices, and packings of them."""
