"""The reason why a problem does not fit: a small, irreducible set of buffers and rules."""
