"""The kernel of the exact search: sections of buffers, placed from the bottom up until they fit or cannot."""
