"""Requests that use their whole time limit, callers that disconnect, and waiting for a condition."""

import json
import random
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.server import RunningServer

LONG_S = 120.0
"""The seconds that a hard request may take."""


def hard_request(seed: int = 7) -> dict[str, Any]:
    """Return a request that takes its whole time limit: random lifetimes and sizes, 300 buffers alive at a time."""
    draw = random.Random(seed)
    rows = [
        {"id": i, "size": draw.randrange(10_000, 99_999), "start": start, "end": start + draw.randrange(100, 700)}
        for i, start in enumerate([draw.randrange(4000) for _ in range(3000)])
    ]
    return {"problem": {"buffers": rows}, "options": {"time_limit_s": LONG_S}}


HARD, HARD_TOO, AS_HARD = (json.dumps(hard_request(seed)).encode() for seed in (7, 8, 9))


@contextmanager
def send_request(server: RunningServer, body: bytes = HARD) -> Iterator[None]:
    """Send a request for a long search, and disconnect at the end of the block."""
    head = f"POST /v1/plan HTTP/1.1\r\nHost: here\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(head.encode() + body)
        yield


def wait_until(is_so: Callable[[], bool]) -> bool:
    """Return True once a condition holds; return False if it does not hold well before a hard request would end."""
    give_up = time.monotonic() + LONG_S / 4
    while not is_so() and time.monotonic() < give_up:
        time.sleep(0.01)
    return is_so()
