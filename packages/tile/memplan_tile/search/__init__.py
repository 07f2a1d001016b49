"""The search for schedules of tiles: bounds, tilings, groups of operations, and fronts over the fast memory."""
