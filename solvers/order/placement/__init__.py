"""Orders together with placements: the peak that is told is that of a verified plan."""
