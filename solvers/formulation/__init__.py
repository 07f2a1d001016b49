"""Things that engines derive from an instance: parts of it, pairs that may share, ranges of offsets, symmetry, costs."""
