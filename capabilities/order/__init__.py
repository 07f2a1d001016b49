"""Order: the order of operations with the least peak, with values kept or computed again."""
