"""`memplan mcp`: a server that offers every question of memplan to assistants as a Model Context Protocol tool."""
