"""Sixteen systems around memplan, a folder each: how their files are read, how they plan, how a plan goes back."""
