"""Sixteen further systems, a folder each: readers of their files, their planners, and writers."""
