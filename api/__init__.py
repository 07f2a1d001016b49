"""Everything that talks to the world: the command and the HTTP service."""
