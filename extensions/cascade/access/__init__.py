"""Access maps: which rows and columns of its inputs an operation reads to compute a part of its output."""
