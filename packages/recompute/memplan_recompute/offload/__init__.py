"""Tensors that are sent away over a link and fetched again, beside being kept or made again."""
