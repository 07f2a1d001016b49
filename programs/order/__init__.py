"""The question `order`, which finds the operation order with the lowest peak, with or without recomputation."""
