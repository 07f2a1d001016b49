"""Offload: tensors that are sent over a link and fetched again, besides those kept or recomputed."""
