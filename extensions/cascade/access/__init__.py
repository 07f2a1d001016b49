"""Access maps: the rows and columns of its inputs that an operation reads for a part of its output."""
