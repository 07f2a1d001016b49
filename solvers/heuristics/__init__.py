"""Greedy packing and local search: good plans for problems of any size, without proofs."""
