"""The handlers of SIGINT (Ctrl-C) and SIGTERM."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

WRONG_INPUT, FAULT, INTERRUPTED = 2, 70, 130
"""The exit statuses of wrong input, of a fault of memplan (EX_SOFTWARE of sysexits.h), and of an interrupt."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(SystemExit):
    """A signal ended the program, as no handler kept it from that."""

    def __init__(self) -> None:
        super().__init__(INTERRUPTED)
        self.status = INTERRUPTED


@contextmanager
def quiet_interrupts() -> Iterator[None]:
    """End with the right exit status, and without a traceback, when a signal comes."""

    def leave(_number: int, _frame: FrameType | None) -> None:
        raise Interrupted

    with _handled(leave):
        yield


@contextmanager
def graceful_interrupts() -> Iterator[threading.Event]:
    """Set the event that is given when a signal comes; a second one ends the program at once."""
    cancelled = threading.Event()

    def cancel(_number: int, _frame: FrameType | None) -> None:
        if cancelled.is_set():
            os._exit(INTERRUPTED)
        cancelled.set()

    with _handled(cancel):
        yield cancelled


@contextmanager
def _handled(handler: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
