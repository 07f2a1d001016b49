"""Places for long work, one fewer than there are workers, so that short work never waits for all of it to end."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S

LONG_S = DEFAULT_TIME_LIMIT_S
"""Work that asks for more time than this is long; work that asks for none has just this."""
_NO_FILE = -1


def is_long_work(time_limit_s: float) -> bool:
    """Return True for the time limit of long work."""
    return time_limit_s > LONG_S


class LongPlaces:
    """The places that long work may hold: all but one where there are two workers or more.

    The processes of one server share its workers, and so these places: each is a lock on a file of a `folder` that they
    have in common, which the system takes back from a process that ends. There are `usually` so many workers: while
    some are being replaced, which long work may have ended, the last one is left to the others as well.
    """

    def __init__(self, workers: Callable[[], int], folder: Path | None = None, usually: int = 0) -> None:
        self.workers, self._folder, self._usually = workers, folder, usually
        self._held: list[int] = []
        """The place, or the open file of its lock, of each that is held; the last one is given back first."""

    def take(self) -> bool:
        """Take a place; return False where none is free."""
        workers = self.workers()
        is_alone = max(workers, self._usually) < 2
        if is_alone or self._folder is None:
            is_free = is_alone or len(self._held) < workers - 1
            self._held += [_NO_FILE] if is_free else []
            return is_free
        for k in range(workers - 1):
            file = os.open(self._folder / f"long-{k}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._held.append(file)
                return True
            os.close(file)
        return False

    def leave(self) -> None:
        """Give a place back."""
        file = self._held.pop()
        if file != _NO_FILE:
            os.close(file)
