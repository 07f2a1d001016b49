"""Plans: made, made again, checked, compared and proved."""
