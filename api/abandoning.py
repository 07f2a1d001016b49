"""Work in a thread, which is abandoned once its time is over, and then ends with its process.

Searches check their deadline; what reads, compiles and lays out does not. No exception is raised in it from outside.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from math import inf
from typing import Generic, TypeVar

Result = TypeVar("Result")
_LOOK_EVERY_S = 0.1


class _WorkThread(threading.Thread, Generic[Result]):
    """A thread of work, which may be abandoned; it then ends with the process."""

    def __init__(self, work: Callable[[], Result]) -> None:
        super().__init__(daemon=True)
        self.is_abandoned = False
        self._work, self.done = work, Future[Result]()

    def run(self) -> None:
        """Do the work, and keep what comes of it."""
        try:
            self.done.set_result(self._work())
        except BaseException as error:  # noqa: BLE001 - it is raised again, in the thread that waits
            self.done.set_exception(error)


_writing = threading.Lock()
"""Held while a file is written, so that work is abandoned before or after."""


@contextlib.contextmanager
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
    thread = _WorkThread(work)
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
    return thread.done.result()
