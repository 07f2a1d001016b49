"""Ends what runs in a thread when its time is over, wherever it is between two steps of Python.

What searches looks at its deadline itself; what reads, compiles and lays out does not, and is ended so. A compiled loop
goes on until it returns: beyond that only the end of its process helps.
"""

from __future__ import annotations

import ctypes
import threading
from types import TracebackType


class OverError(BaseException):
    """The time of what runs here is over; no handler of mere errors takes it."""


class Ending:
    """Raises OverError in the thread that enters it once its time is over, unless the block has ended. For one use."""

    def __init__(self) -> None:
        self._thread: int | None = None
        self._changing = threading.Lock()
        self._timer: threading.Timer | None = None

    def within(self, seconds: float) -> None:
        """Let the block end in so many seconds from now; callable from any thread, and again."""
        with self._changing:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(max(0.0, min(seconds, threading.TIMEOUT_MAX)), self._end)
            self._timer.daemon = True
            self._timer.start()

    def __enter__(self) -> Ending:
        self._thread = threading.get_ident()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._changing:
            self._thread = None
            if self._timer is not None:
                self._timer.cancel()
        _raise_in(threading.get_ident(), None)  # one that was on its way

    def _end(self) -> None:
        with self._changing:
            if self._thread is not None:
                _raise_in(self._thread, OverError)


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    told = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), told)
