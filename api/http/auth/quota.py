"""The quota of requests of a key."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

_MOST_KNOWN = 10_000


class RequestQuota:
    """Allows each key so many requests at once, and as many again within every minute; for one event loop.

    It is a token bucket: the rest grows evenly with time. Each server counts for itself.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key_id: str, per_minute: int) -> float:
        """Count a request; return 0, or the seconds until there is one left again, where it does not count."""
        now = self._clock()
        left, then = self._left.pop(key_id, (float(per_minute), now))
        left = min(float(per_minute), left + (now - then) * per_minute / 60)
        wait_s = 0.0 if left >= 1 else (1 - left) * 60 / per_minute
        self._left[key_id] = left - 1 if wait_s == 0 else left, now
        while len(self._left) > _MOST_KNOWN:
            self._left.popitem(last=False)
        return wait_s
