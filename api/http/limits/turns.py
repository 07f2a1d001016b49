"""Equal shares of connections for the processes that accept them on one socket."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

_WORD = 8
_COUNTS, _MOST_NOTES = 2**32, 2**31 - 1
"""The low half of a word is a count; the high one changes with each note, so that a process that hangs is known, and is
0 only where none was made.
"""
_CHANCES = 32
"""How often a connection is left to a process with fewer that gives no sign of life."""


class Turns:
    """How many connections each of several processes has open, in a file that all of them have in memory.

    All processes are told of a connection that waits; one that has more than another leaves it to that for a moment,
    since a connection stays where it was accepted, and so does all the work that comes over it. None takes any before
    all `processes` were there once.
    """

    def __init__(self, path: Path, number: int, processes: int) -> None:
        opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.ftruncate(opened, _WORD * processes)
            self._words = memoryview(mmap.mmap(opened, _WORD * processes)).cast("q")
        finally:
            os.close(opened)
        self._mine, self._notes = number, 0
        self._had: dict[int, tuple[int, int]] = {}

    def note(self, count: int) -> None:
        """Note that this process is there, and how many connections it has open."""
        self._notes = self._notes % _MOST_NOTES + 1
        self._words[self._mine] = self._notes * _COUNTS + count

    def must_wait(self, count: int) -> bool:
        """Note how many are open, and return True if another process has fewer, and may yet take the next connection.

        To be asked before every attempt to accept. One that is busy has some chances in a row; one that hangs has them
        once, and then one for each connection.
        """
        self.note(count)
        words = self._words.tolist()
        if 0 in words:
            return True
        fewer = {k: word for k, word in enumerate(words) if word % _COUNTS < count}
        chances = {k: self._chances_of(k, word) for k, word in fewer.items()}
        waits = any(had < _CHANCES for had in chances.values())
        self._had = {k: (word, chances[k] + 1 if waits else _CHANCES - 1) for k, word in fewer.items()}
        return waits

    def _chances_of(self, k: int, word: int) -> int:
        """Return how many chances a process has had since it was heard of."""
        known, had = self._had.get(k, (word, 0))
        return had if known == word else 0
