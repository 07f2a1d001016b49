"""Greedy orders and local search: good plans of any size, without proofs."""
