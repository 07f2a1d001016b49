"""Ports for servers of the tests' own."""

from __future__ import annotations

import os
import socket
from itertools import count

_LOWEST, _COUNT = 10_000, 20_000
"""The range of ports below those that systems give to outgoing connections, which come and go while a server starts."""
_candidates = count(os.getpid() * 101)
"""Processes that run tests side by side begin at different ports."""


def free_port() -> int:
    """Return a port that nothing listens on, a new one for each call of this process."""
    for candidate in _candidates:
        port = _LOWEST + candidate % _COUNT
        with socket.socket() as taken:
            try:
                taken.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("the candidates do not end")
