"""The server process: its sockets, its connections, and its shutdown."""
