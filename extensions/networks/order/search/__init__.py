"""The search for the order of operations with the least peak: reductions, bounds and searches."""
