"""Exports for C and linkers: plans as arrays, allocators and linker scripts."""
