"""Which servers are dead: those whose number of beats stands still."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

LEASE_S = 10.0
"""For how long a server may say nothing before its jobs are taken over."""


class Watch:
    """Sees the beats of all servers, and tells which have stopped, by its own stopwatch alone."""

    def __init__(self, lease_s: float = LEASE_S, stopwatch: Callable[[], float] = time.monotonic) -> None:
        self._lease_s, self._stopwatch = lease_s, stopwatch
        self._seen: dict[str, tuple[int, float]] = {}

    def dead(self, beats: Mapping[str, int]) -> dict[str, int]:
        """Take note of the beats of all servers; return those that have not changed for `lease_s`."""
        now = self._stopwatch()
        for server, count in beats.items():
            if self._seen.get(server, (None, now))[0] != count:
                self._seen[server] = count, now
        self._seen = {server: seen for server, seen in self._seen.items() if server in beats}
        return {server: count for server, (count, since) in self._seen.items() if now - since >= self._lease_s}

    def forget(self) -> None:
        """Begin anew: where the store was away, nobody could beat."""
        self._seen.clear()
