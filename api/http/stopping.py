"""The early end of a stopping server's searches, because uvicorn itself would wait until they end by themselves."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def handle_stop(stop_work: Callable[[], None]) -> Iterator[None]:
    """Let stop signals also call `stop_work` on the event loop while the block runs; the block's end calls it too."""
    loop = asyncio.get_running_loop()
    before: dict[int, Any] = {}

    def stop(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(stop_work)
        if callable(then := before[number]):
            then(number, frame)

    if threading.current_thread() is threading.main_thread():
        before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, then in before.items():
            signal.signal(number, then)
        stop_work()
