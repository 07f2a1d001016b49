"""IREE: a reader of the packs (sets of slices to be placed in one memory) in its compiler's dumps."""
