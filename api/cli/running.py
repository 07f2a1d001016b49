"""How a command ends: its exit status, and its handling of signals and of its time limit."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

WRONG_INPUT, FAULT, INTERRUPTED = 2, 70, 130
"""The exit statuses for wrong input, a fault of memplan (EX_SOFTWARE of sysexits.h), and an interrupt."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class InterruptedRun(SystemExit):
    """The exception that ends the program on a signal for which no other handler is installed."""

    def __init__(self) -> None:
        super().__init__(INTERRUPTED)
        self.status = INTERRUPTED


def leave(_number: int, _frame: FrameType | None) -> None:
    """Handle a signal: end the program with the status of an interrupt, without a traceback."""
    raise InterruptedRun


@contextmanager
def graceful_interrupts() -> Iterator[threading.Event]:
    """Yield an event that the first signal sets; a second signal ends the program at once."""
    cancelled = threading.Event()

    def cancel(_number: int, _frame: FrameType | None) -> None:
        if cancelled.is_set():
            os._exit(INTERRUPTED)
        cancelled.set()

    with handle_signals(cancel):
        yield cancelled


@contextmanager
def handle_signals(handler: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    """Install a handler for the signals that would end the program, and restore the old handlers after the block."""
    before = {number: signal.signal(number, handler) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def seconds_left(limit_s: float) -> Callable[[], float]:
    """Return a function that returns the seconds left of a limit that starts now.

    On a busy machine, the limit lasts until this process has used as much processor time.
    """
    until, cpu_until = time.monotonic() + limit_s, time.process_time() + limit_s
    return lambda: max(until - time.monotonic(), cpu_until - time.process_time())
