"""Facts that solvers derive from an instance: parts, sharing pairs, offset ranges, symmetry and costs."""
