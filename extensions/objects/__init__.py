"""Plans of memory that is not one arena: objects (textures) that several buffers share, and heaps of limited size."""
