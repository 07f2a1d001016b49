"""Memory other than one arena: objects that several buffers share, such as textures, and heaps of a limited size."""
