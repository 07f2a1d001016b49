"""Facts that engines derive from an instance: parts, pairs that may share, ranges of offsets, symmetry, costs."""
