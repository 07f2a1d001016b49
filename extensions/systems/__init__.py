"""Sixteen compilers and runtimes, one folder each: readers of their files, their own planners, writers of plans."""
