"""Readers of torch's files: exported programs, snapshots of its allocator, and wrapper code of inductor."""
