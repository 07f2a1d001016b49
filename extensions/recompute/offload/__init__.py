"""Offload: tensors may be sent to another memory over a link and fetched again, besides being kept or recomputed."""
