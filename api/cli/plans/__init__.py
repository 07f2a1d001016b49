"""Commands that make, check and look into plans."""
