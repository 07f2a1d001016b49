"""Tuning of Python's garbage collector: loaded objects are exempt from it, and full collections are rare."""

import gc


def collect_rarely() -> None:
    """Exempt all existing objects from garbage collection, and make full collections (10 ms or more) rare.

    Most garbage cycles are young, but a full collection scans every object of a server or of a large file. Half a
    megabyte of garbage from imports stays in memory, since finding it would take 0.1 s.
    """
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    gc.enable()
