"""Re-planning: what of an old plan is still legal, plans that keep it, and differences."""
