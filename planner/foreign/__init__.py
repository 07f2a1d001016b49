"""The systems around memplan, a folder each: how its files are read, how it plans, how a plan is written for it."""
