"""The systems around memplan: how their files are read, how they plan, and how plans are written for them."""
