"""Access maps: which rows and columns of its inputs an operation reads for a part of its output."""
