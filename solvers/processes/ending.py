"""Ends what runs in a thread when its time is over, wherever it is between two steps of Python.

What searches looks at its deadline itself; what reads, compiles and lays out does not, and is ended so. A compiled loop
goes on until it returns: beyond that only the end of its process helps. Modules are imported, and files written, to
their end.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import threading
from collections.abc import Callable
from types import CodeType
from typing import TypeVar

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., object])
_WHOLE = set[CodeType]()
"""The functions that are not ended between two of their steps."""
_AGAIN_S = 0.05
"""The time after which it is raised again: Python drops an error in a finalizer, or in a callback of its collector."""


def runs_to_its_end(function: F) -> F:
    """Mark a function of which nothing may be left behind in part, such as one that writes a file."""
    _WHOLE.add(function.__code__)
    return function


class OverError(BaseException):
    """The time of what runs here is over; no handler of mere errors takes it."""


def hide_dropped_ends() -> None:
    """Write nothing where Python drops an end, which is then raised again."""
    others = sys.unraisablehook
    sys.unraisablehook = lambda dropped: None if dropped.exc_type is OverError else others(dropped)


class Ending:
    """Raises OverError in the thread that runs work once its time is over, unless that has ended. For one use.

    `on_end` is called each time, by another thread. `more_s` says for how many seconds it is not yet to end then.
    """

    def __init__(self, on_end: Callable[[], None] = lambda: None, more_s: Callable[[], float] = lambda: 0.0) -> None:
        self._on_end, self._more_s = on_end, more_s
        self._thread: int | None = None
        self._changing = threading.Lock()
        self._timer: threading.Timer | None = None
        self._was_raised = False

    def within(self, seconds: float) -> None:
        """Let what runs end in so many seconds from now; callable from any thread, and again."""
        with self._changing:
            self._end_in(seconds)

    def run(self, work: Callable[[], T]) -> T:
        """Return what the work returns; raises OverError where its time is over before."""
        try:
            self._thread = threading.get_ident()
            return work()
        except Exception as error:
            if self._was_raised:
                # Pydantic, for one, makes an error of its own of what ends a function that it calls as it writes.
                raise OverError from error
            raise
        finally:
            # Twice, as an end may be raised where the first begins, and would then come again and again, in whatever
            # this thread does next.
            try:
                self._leave_surely()
            finally:
                self._leave_surely()

    def _leave_surely(self) -> None:
        while self._thread is not None:
            with contextlib.suppress(OverError):
                self._leave()

    def _leave(self) -> None:
        with self._changing:
            if self._timer is not None:
                self._timer.cancel()
            _raise_in(threading.get_ident(), None)  # one that was on its way
            self._thread = None

    def _end_in(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(max(0.0, min(seconds, threading.TIMEOUT_MAX)), self._end)
        self._timer.daemon = True
        self._timer.start()

    def _end(self) -> None:
        with self._changing:
            if self._thread is not None and (more_s := max(self._more_s(), _whole_s(self._thread))) > 0:
                self._end_in(more_s)
            elif self._thread is not None:
                self._was_raised = True
                _raise_in(self._thread, OverError)
                self._end_in(_AGAIN_S)
                self._on_end()


def _whole_s(thread: int) -> float:
    """Return the seconds until the next look where the thread does what must not be left behind in part."""
    frame = sys._current_frames().get(thread)
    while frame is not None:
        if frame.f_code in _WHOLE or frame.f_code.co_filename.startswith("<frozen importlib"):
            return _AGAIN_S
        frame = frame.f_back
    return 0.0


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    raised = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), raised)
