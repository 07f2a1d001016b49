"""Equal shares of connections for the processes that accept them on one socket."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

_WORD = 8
_MOST_PROCESSES = 512


class Turns:
    """How many connections each of several processes has open, in a file that all of them have in memory.

    All processes are told of a connection that waits; one that has more than another leaves it to that for a moment,
    since a connection stays where it was accepted, and so does all the work that comes over it.
    """

    def __init__(self, path: Path, number: int) -> None:
        opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.ftruncate(opened, _WORD * _MOST_PROCESSES)
            self._counts = memoryview(mmap.mmap(opened, _WORD * _MOST_PROCESSES)).cast("q")
        finally:
            os.close(opened)
        self._mine = number % _MOST_PROCESSES
        self.note(0)

    def note(self, count: int) -> None:
        """Note how many connections this process has open; one more is written, as 0 says that no process is there."""
        self._counts[self._mine] = count + 1

    def is_ahead(self, count: int) -> bool:
        """Note how many are open, and return True if another process has fewer."""
        self.note(count)
        return any(0 < other <= count for other in self._counts)
