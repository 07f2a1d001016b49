"""Greedy packing and local search: good plans of any size, without proofs."""
