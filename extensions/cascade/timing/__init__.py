"""Latencies of regions on a target, with its memories, links and engine simulated visit by visit."""
