"""A server that tells at its end which steps of its event loop took longest: `python -m ... PORT`, for `lab.hostile`.

A step is one callback of asyncio's loop, in milliseconds of its thread's processor time and by the clock; where one
takes long, it is told where in memplan it was seen, by a thread that looks every few milliseconds.
"""

from __future__ import annotations

import asyncio
import heapq
import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from itertools import count
from types import FrameType
from typing import Any

from memplan.api.http.serving.server import serve

_KEPT = 12
_LOOK_EVERY_S, _LONG_S = 0.004, 0.01


def watch_steps() -> list[tuple[float, int, float, str]]:
    """Let every step of event loops be timed; return the heap of the longest."""
    longest: list[tuple[float, int, float, str]] = []
    numbers, plain, looking = count(), asyncio.Handle._run, _Looking()

    def timed(handle: Any) -> None:
        cpu, clock = time.thread_time(), time.monotonic()
        looking.begin(clock)
        plain(handle)
        took = time.thread_time() - cpu
        if len(longest) < _KEPT or took > longest[0][0]:
            found = (took, next(numbers), time.monotonic() - clock, looking.seen() or repr(handle)[:240])
            (heapq.heappush if len(longest) < _KEPT else heapq.heappushpop)(longest, found)

    asyncio.Handle._run = timed  # type: ignore[method-assign, assignment]
    return longest


class _Looking:
    """A thread that notes where the thread that began a step is, while the step takes long."""

    def __init__(self) -> None:
        self._thread, self._began, self._seen = threading.get_ident(), float("inf"), Counter[str]()
        threading.Thread(target=self._look_always, daemon=True).start()

    def begin(self, now: float) -> None:
        """Note that a step begins."""
        self._thread, self._began = threading.get_ident(), now
        if self._seen:
            self._seen = Counter()

    def seen(self) -> str:
        """Return where this step was seen, the most frequent places first; empty for a short one."""
        return "; ".join(f"{place} x{times}" for place, times in self._seen.most_common(3))

    def _look_always(self) -> None:
        while True:
            time.sleep(_LOOK_EVERY_S)
            if time.monotonic() - self._began > _LONG_S:
                self._seen[_place(sys._current_frames().get(self._thread))] += 1


def _place(frame: FrameType | None) -> str:
    """Return the innermost functions of memplan on a stack, inner first."""
    found: list[str] = []
    while frame is not None and len(found) < 4:
        name = frame.f_code.co_filename.partition("memplan/")[2]
        if name and "site-packages" not in name:
            found.append(f"{name}:{frame.f_lineno}")
        frame = frame.f_back
    return " < ".join(found)


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
