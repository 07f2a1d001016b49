"""Python's garbage collector in the command and in a server: loaded objects stay, and full collections are rare."""

import gc


def collect_rarely() -> None:
    """Leave all objects so far out of collections, and make full ones rare: they stop all threads for 10 ms and more.

    Most cycles are young, and a full collection would scan all objects of a server, or of a large file. What
    loading left stays, too: it is half a megabyte, and finding it takes 0.1 s.
    """
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    gc.enable()
