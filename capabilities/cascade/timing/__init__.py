"""Times of regions on a target: its memories, links and engine, gone through visit by visit."""
