"""The question `order`: the order of operations with the least peak, without and with recomputation."""
