"""Re-planning: old placements that are still legal, plans that keep many of them, and differences between plans."""
