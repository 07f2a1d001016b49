"""Offload: tensors may be sent over a link to another memory and fetched again, besides being kept or recomputed."""
