"""StableHLO as text."""
