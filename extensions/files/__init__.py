"""Questions about files of other systems: `compare` their planners with memplan, and `convert` problems and plans."""
