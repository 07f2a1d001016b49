"""Questions that engines ask of an instance: parts of it, pairs that may share, ranges of offsets, symmetry, costs."""
