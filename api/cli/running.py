"""How a command ends: early by a signal, at its time limit, and with which exit status."""

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
"""The exit statuses of wrong input, of a fault of memplan (EX_SOFTWARE of sysexits.h), and of an interrupt."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class InterruptedRun(SystemExit):
    """A signal ended the program, since no handler was installed."""

    def __init__(self) -> None:
        super().__init__(INTERRUPTED)
        self.status = INTERRUPTED


def leave(_number: int, _frame: FrameType | None) -> None:
    """End the program on a signal, with the right exit status and without a traceback."""
    raise InterruptedRun


@contextmanager
def graceful_interrupts() -> Iterator[threading.Event]:
    """Yield an event that is set by a signal; a second signal ends the program at once."""
    cancelled = threading.Event()

    def cancel(_number: int, _frame: FrameType | None) -> None:
        if cancelled.is_set():
            os._exit(INTERRUPTED)
        cancelled.set()

    with handle_signals(cancel):
        yield cancelled


@contextmanager
def handle_signals(handler: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    """Pass signals that would end the program to a handler while the block runs."""
    before = {number: signal.signal(number, handler) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def seconds_left(limit_s: float) -> Callable[[], float]:
    """Return a function for the seconds that are left of a limit that begins now.

    On a busy machine, the limit lasts until this process has had as much processor time.
    """
    until, cpu_until = time.monotonic() + limit_s, time.process_time() + limit_s
    return lambda: max(until - time.monotonic(), cpu_until - time.process_time())
