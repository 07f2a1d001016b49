"""The command `memplan`."""
