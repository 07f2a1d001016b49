"""Work in a separate thread, which the waiting thread can abandon at a deadline.

Searches check their deadlines, but code that reads, compiles or arranges data does not. A thread cannot be stopped from
outside, so abandoned work continues until the process ends.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from math import inf
from typing import TypeVar

_LOOK_EVERY_S = 0.1
Result = TypeVar("Result")


class _WorkThread(threading.Thread):
    """A thread that runs work which may be abandoned; `is_abandoned` is True afterwards."""

    is_abandoned = False


_writing = threading.Lock()
"""The lock held while a file is written, so that work is abandoned only before or after that."""


@contextmanager
def writing() -> Iterator[None]:
    """Let the block finish writing its file, even if the thread's work is abandoned meanwhile.

    If the work was abandoned before the block, raise SystemExit, so that nothing is written.
    """
    with _writing:
        if getattr(threading.current_thread(), "is_abandoned", False):
            raise SystemExit
        yield


def run_in_thread(
    work: Callable[[], Result], meanwhile: Callable[[], None] | None = None, left_s: Callable[[], float] = lambda: inf
) -> Result:
    """Return the result of `work()`, which runs in a new thread, or raise its error; meanwhile, call `meanwhile()`.

    The calling thread waits outside of kernels, so that it can handle signals at once. It calls `meanwhile()` several
    times a second. Once `left_s()` returns 0, the work is abandoned and TimeoutError is raised.
    """
    results: list[Result] = []
    errors: list[BaseException] = []
    has_ended = threading.Event()

    def keep_outcome() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - the waiting thread raises the error again
            errors.append(error)
        has_ended.set()

    thread = _WorkThread(target=copy_context().run, args=(keep_outcome,), name="memplan-work", daemon=True)
    thread.start()
    try:  # A signal would end `join` early, so wait for an event instead of the thread.
        while not has_ended.wait(max(0.0, min(_LOOK_EVERY_S, left_s()))):
            if left_s() <= 0:
                raise TimeoutError
            if meanwhile is not None:
                meanwhile()
    except BaseException:  # A signal handler may raise any exception to end the wait, so catch all.
        thread.is_abandoned = True
        with _writing:  # The abandoned thread may be writing a file, so let it finish.
            raise
    thread.join()  # A caller may fork, for which no other thread may be left.
    for error in errors:
        raise error
    return results[0]
