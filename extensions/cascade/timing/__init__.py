"""Latencies of regions on a target, whose memories, links and engine are simulated for each visit (iteration)."""
