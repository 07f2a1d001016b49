"""Shared objects: which buffers have one object after each other, so that the sizes of all objects have a small sum."""
