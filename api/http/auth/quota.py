"""The quota of requests of a key."""

from __future__ import annotations

import fcntl
import os
import struct
import time
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

_MOST_KNOWN = 10_000
_BUCKET = struct.Struct("<dd")


class RequestQuota:
    """Allows each key so many requests at once, and as many again within every minute; for one event loop.

    It is a token bucket: the rest grows evenly with time. Each server counts for itself; the processes of one server
    count together, in files of a `folder` that they share.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, folder: Path | None = None) -> None:
        self._clock, self._folder = clock, folder
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key_id: str, per_minute: int) -> float:
        """Count a request; return 0, or the seconds until there is one left again, where it does not count."""
        if self._folder is not None:
            return self._taken_together(self._folder, key_id, per_minute)
        now = self._clock()
        left, then = self._left.pop(key_id, (float(per_minute), now))
        left, wait_s = _counted(left, now - then, per_minute)
        self._left[key_id] = left, now
        while len(self._left) > _MOST_KNOWN:
            self._left.popitem(last=False)
        return wait_s

    def _taken_together(self, folder: Path, key_id: str, per_minute: int) -> float:
        """Count in the file of a key; the clock is that of the machine, which all processes have in common."""
        file = os.open(folder / f"quota-{sha256(key_id.encode()).hexdigest()[:32]}", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            now, known = self._clock(), os.pread(file, _BUCKET.size, 0)
            left, then = _BUCKET.unpack(known) if len(known) == _BUCKET.size else (float(per_minute), now)
            left, wait_s = _counted(left, max(0.0, now - then), per_minute)
            os.pwrite(file, _BUCKET.pack(left, now), 0)
            return wait_s
        finally:
            os.close(file)


def _counted(left: float, passed_s: float, per_minute: int) -> tuple[float, float]:
    """Return what is left of a bucket after a request, and how long that would have to wait, 0 where it counts."""
    left = min(float(per_minute), left + passed_s * per_minute / 60)
    wait_s = 0.0 if left >= 1 else (1 - left) * 60 / per_minute
    return (left - 1 if wait_s == 0 else left), wait_s
