"""The search for the operation order with the lowest peak: reductions, lower bounds and searches."""
