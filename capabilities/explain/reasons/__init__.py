"""The reason why a problem does not fit: few buffers and rules that are enough for that, each of them needed."""
