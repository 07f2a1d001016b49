"""A server that tells at its end which steps of its event loop took longest: `python -m ... PORT`, for `tests.hostile`.

A step is one callback of asyncio's loop, in milliseconds of its thread's processor time and by the clock.
"""

from __future__ import annotations

import asyncio
import heapq
import json
import os
import signal
import sys
import time
from itertools import count
from typing import Any

from memplan.api.http.server import serve

_KEPT = 12


def watch_steps() -> list[tuple[float, int, float, str]]:
    """Let every step of event loops be timed; return the heap of the longest."""
    longest: list[tuple[float, int, float, str]] = []
    numbers, plain = count(), asyncio.Handle._run

    def timed(handle: Any) -> None:
        cpu, clock = time.thread_time(), time.monotonic()
        plain(handle)
        took = time.thread_time() - cpu
        if len(longest) < _KEPT or took > longest[0][0]:
            found = (took, next(numbers), time.monotonic() - clock, repr(handle)[:240])
            (heapq.heappush if len(longest) < _KEPT else heapq.heappushpop)(longest, found)

    asyncio.Handle._run = timed  # type: ignore[method-assign, assignment]
    return longest


def main() -> None:
    """Serve on a port of the loopback, and tell at the end."""
    longest = watch_steps()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # uvicorn raises it again behind its own shutdown
    try:
        serve("127.0.0.1", int(sys.argv[1]))
    finally:
        for cpu, _, clock, what in sorted(longest, reverse=True):
            told = {"cpu_ms": round(1e3 * cpu, 1), "ms": round(1e3 * clock, 1), "step": what, "process": os.getpid()}
            print("loop-steps", json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
