"""Graphs and memory snapshots of PyTorch."""
