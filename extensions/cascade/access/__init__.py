"""Access maps, which name the rows and columns of its inputs that an operation reads for a part of its output."""
