"""Sixteen compilers and runtimes, one folder each: readers of their files, their planners, and writers of plans."""
