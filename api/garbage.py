"""Python's garbage collector in the command and in a server: loaded objects are exempt, full collections rare."""

import gc


def collect_rarely() -> None:
    """Exempt all existing objects from garbage collection, and make full collections rare: they take 10 ms and more.

    Most cycles are young, while a full collection would scan all objects of a server or of a large file. Garbage from
    loading is exempt as well: it is half a megabyte, and finding it would take 0.1 s.
    """
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    gc.enable()
