"""The end of a command: exit statuses, signal handlers, and the clock of its time limit."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, ClassVar

WRONG_INPUT, FAULT, INTERRUPTED = 2, 70, 130
"""Exit statuses: wrong input, a fault of memplan (EX_SOFTWARE in sysexits.h), and an interrupt (128 + SIGINT)."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class OneCommand:
    """Whether this process runs one command and nothing else, so that it may go on in a fork of itself."""

    is_run: ClassVar[bool] = False


class InterruptedRun(SystemExit):
    """The exception that ends the program on SIGINT or SIGTERM, unless a command handles these signals itself."""

    def __init__(self) -> None:
        """Set the exit status to that of an interrupted program (130)."""
        super().__init__(INTERRUPTED)
        self.status = INTERRUPTED


def handle_signal(_number: int, _frame: FrameType | None) -> None:
    """Raise InterruptedRun, which ends the program without a traceback and with the exit status of an interrupt."""
    raise InterruptedRun


def leave(_number: int, _frame: FrameType | None) -> None:
    """End the program before its command starts: an exception would sometimes be lost in the import of a package."""
    os._exit(INTERRUPTED)


@contextmanager
def graceful_interrupts() -> Iterator[threading.Event]:
    """Yield an event that the first signal sets; a second signal ends the process at once."""
    cancelled = threading.Event()

    def cancel(_number: int, _frame: FrameType | None) -> None:
        if cancelled.is_set():
            os._exit(INTERRUPTED)
        cancelled.set()

    with handle_signals(cancel):
        yield cancelled


@contextmanager
def handle_signals(handler: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    """Handle SIGINT and SIGTERM by a function while the block runs, then restore the previous handlers."""
    before = {number: signal.signal(number, handler) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def seconds_left(limit_s: float) -> Callable[[], float]:
    """Start a limit of `limit_s` seconds, and return the function that returns the seconds left.

    The limit ends when both the wall time and the CPU time of the process are used up, so on a busy machine it lasts
    longer than `limit_s` of wall time.
    """
    until, cpu_until = time.monotonic() + limit_s, time.process_time() + limit_s
    return lambda: max(until - time.monotonic(), cpu_until - time.process_time())
