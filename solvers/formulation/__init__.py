"""Facts derived from an instance for engines: parts, sharing pairs, offset ranges, symmetry, costs."""
