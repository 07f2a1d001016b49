"""Free ports for the servers of tests."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from itertools import count

_LOWEST, _COUNT = 10_000, 20_000
"""The ports below the range of outgoing connections, which open and close while a server starts."""
_candidates = count(os.getpid() * 101)
"""The first port of each process, so that processes that run tests side by side use different ports."""


def free_port() -> int:
    """Return a port that no process listens on, a new one for each call in this process."""
    for candidate in _candidates:
        port = _LOWEST + candidate % _COUNT
        with socket.socket() as taken:
            try:
                taken.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("the candidates do not end")


def wait_for_port(port: int, patience_s: float = 60.0) -> int:
    """Wait until a process listens on a port, and return the port; on a busy machine, that takes seconds."""
    give_up = time.monotonic() + patience_s
    while time.monotonic() < give_up:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1.0):
            return port
        time.sleep(0.05)
    raise AssertionError(f"nothing listens on port {port}")
