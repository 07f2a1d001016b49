"""Plans memory that is not one arena: objects that several buffers share (textures), and heaps of limited size."""
