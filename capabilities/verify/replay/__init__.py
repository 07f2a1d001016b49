"""Replay bundles: a solve with all that it was made of, and the same solve once more."""
