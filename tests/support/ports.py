"""Free ports for the servers of tests."""

import os
import socket
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
