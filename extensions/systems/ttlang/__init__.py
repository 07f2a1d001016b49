"""tt-lang: the SRAM allocator of its compiler."""
