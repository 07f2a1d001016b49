"""Which buffer goes to which memory: bounds for the choice, the best choices, and packings of them."""
