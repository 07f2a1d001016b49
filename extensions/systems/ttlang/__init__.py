"""tt-lang: the allocator of its compiler for SRAM."""
