"""Files of torch: exported programs, snapshots of its allocator's memory, and wrapper code of inductor."""
