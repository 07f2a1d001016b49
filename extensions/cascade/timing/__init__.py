"""Latencies of regions on a target, whose memories, links and engine are simulated one visit (loop iteration) at a
time.
"""
