"""The question `order`: it finds the order of operations with the least peak, with or without recomputation."""
