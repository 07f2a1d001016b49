"""Orders together with placements: the peak that is reported is that of a verified plan."""
