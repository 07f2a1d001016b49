"""The command-line program `memplan`: its commands, their flags, and the text that they print."""
