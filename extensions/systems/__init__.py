"""Sixteen compilers and runtimes, one folder each: readers of files, reimplemented planners, writers of plans."""
