"""Shared objects: memory that cannot be cut by offsets, such as textures, in which every buffer has one as a whole."""
