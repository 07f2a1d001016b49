"""IREE: a reader of the packs in its compiler's dumps."""
