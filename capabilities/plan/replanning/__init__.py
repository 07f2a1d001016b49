"""Plans that change as little as can be: what of an old plan is still right, re-plans that keep it, and differences."""
