"""Re-planning: the placements of an old plan that are still legal, plans that keep them, and differences."""
