"""The heartbeat monitor: a server is dead whose number of heartbeats stands still."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

LEASE_S = 10.0
"""For how long a server may say nothing before its jobs are taken over."""


BEAT_S = 2.0
"""The time between two heartbeats of a server."""


@dataclass(frozen=True)
class HeartbeatTimes:
    """The time between two heartbeats of a server, and the time without any after which its jobs are taken over."""

    beat_s: float = BEAT_S
    lease_s: float = LEASE_S


class HeartbeatMonitor:
    """Sees the heartbeats of all servers, and tells which have stopped, by its own stopwatch alone."""

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
        """Begin anew: where the store was away, no server could beat."""
        self._seen.clear()
