"""The systems around memplan: reading their files, comparing with their planners, and exporting plans to them."""
