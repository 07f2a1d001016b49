"""The order of operations with the least peak: reductions, bounds, searches."""
