"""How a command runs: its work in a thread, which ends early for a signal and is abandoned once its time is over.

Searches check their deadline; what reads, compiles and lays out does not. No exception is raised in it from outside:
abandoned work ends with its process.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from types import FrameType
from typing import Any, TypeVar

WRONG_INPUT, FAULT, INTERRUPTED = 2, 70, 130
"""The exit statuses of wrong input, of a fault of memplan (EX_SOFTWARE of sysexits.h), and of an interrupt."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LOOK_EVERY_S = 0.1
Result = TypeVar("Result")


class Interrupted(SystemExit):
    """A signal ended the program, as no handler kept it from that."""

    def __init__(self) -> None:
        super().__init__(INTERRUPTED)
        self.status = INTERRUPTED


def leave(_number: int, _frame: FrameType | None) -> None:
    """End the program at a signal with the right exit status, and without a traceback."""
    raise Interrupted


@contextmanager
def graceful_interrupts() -> Iterator[threading.Event]:
    """Set the event that is given when a signal comes; a second one ends the program at once."""
    cancelled = threading.Event()

    def cancel(_number: int, _frame: FrameType | None) -> None:
        if cancelled.is_set():
            os._exit(INTERRUPTED)
        cancelled.set()

    with handled(cancel):
        yield cancelled


@contextmanager
def handled(handler: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    """Let a handler have the signals that end a program."""
    before = {number: signal.signal(number, handler) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


class _WorkThread(threading.Thread):
    """A thread of work, which may be abandoned."""

    is_abandoned = False


_writing = threading.Lock()
"""Held while a file is written, so that work is abandoned before or after."""


@contextmanager
def writing() -> Iterator[None]:
    """Let the block write a file to its end; abandoned work writes nothing any more, and ends here."""
    with _writing:
        if getattr(threading.current_thread(), "is_abandoned", False):
            raise SystemExit
        yield


def seconds_left(limit_s: float) -> Callable[[], float]:
    """Return what says how many seconds are left of a limit that begins now.

    On a machine that is busy, the time is not over before this process has had as much of a processor.
    """
    until, cpu_until = time.monotonic() + limit_s, time.process_time() + limit_s
    return lambda: max(until - time.monotonic(), cpu_until - time.process_time())


def run_in_thread(
    work: Callable[[], Result], meanwhile: Callable[[], None] | None = None, left_s: Callable[[], float] = lambda: inf
) -> Result:
    """Run `work` to its end, and `meanwhile` several times a second; return or raise what it does.

    A signal's handler runs in the main thread, which must not be inside a kernel when the signal comes. Once no time is
    left, the work is abandoned, and TimeoutError raised.
    """
    results: list[Result] = []
    errors: list[BaseException] = []

    def keep_outcome() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - it is raised again, in the thread that waits
            errors.append(error)

    thread = _WorkThread(target=keep_outcome, daemon=True)
    thread.start()
    try:
        thread.join(max(0.0, min(_LOOK_EVERY_S, left_s())))
        while thread.is_alive():
            if left_s() <= 0:
                raise TimeoutError
            if meanwhile is not None:
                meanwhile()
            thread.join(max(0.0, min(_LOOK_EVERY_S, left_s())))
    except BaseException:  # a signal ends it, too
        thread.is_abandoned = True
        with _writing:  # a file that is being written is written to its end
            raise
    for error in errors:
        raise error
    return results[0]
