"""Other systems: reading of their files, comparison with their planners, and export of plans to them."""
