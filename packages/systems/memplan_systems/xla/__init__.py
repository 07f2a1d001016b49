"""XLA modules and dumps."""
