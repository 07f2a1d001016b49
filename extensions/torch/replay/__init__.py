"""Planned addresses for a step on CUDA: recorded once, planned by memplan, and replayed by an allocator in C."""
