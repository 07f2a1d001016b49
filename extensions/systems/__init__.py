"""Sixteen compilers and runtimes, one folder each: readers of their files, their own planners, and writers of plans."""
