"""Guarded reading of other systems' files: a command reads them in a fork, within limits of memory and time.

So does an answer that is computed from the file itself, such as a conversion. The readers bound their work by the
bytes of a file. The guard is for faults in them, and for parsers in C, which let neither a signal nor a time limit
through. It costs a fork, so only files of other systems are guarded, and only on Linux, which tells the memory of a
process.
"""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import inf
from typing import ClassVar

from memplan.api.cli.running import WRONG_INPUT, OneCommand
from memplan.api.cli.streams import print_message, read_bytes
from memplan.planner.errors import InputError
from memplan.planner.foreign.reading import detect
from memplan.solvers.processes.apart import run_in_thread
from memplan.solvers.processes.watched import ForkLimits, LostForkError, Watch, go_on_in_fork

_MOST_BYTES, _MOST_A_BYTE = 3 << 27, 16
_SMALL_FILE, _MOST_A_SMALL_BYTE = 1 << 22, 256
"""The memory of reading a file: 384 MiB, 16 times its size, and 256 times that of the first 4 MiB, which are operations
of a large model, while the rest are its weights."""
_GRACE_S = 0.3
"""The seconds after a time limit in which a command that is not held up ends by itself."""


class _Guard:
    """The guard of this process: its line to the process that watches it, once it is a fork of that."""

    watch: ClassVar[Watch | None] = None


@contextmanager
def guarded_reading(
    paths: Sequence[str], limit_s: float | None = None, left_s: Callable[[], float] = lambda: inf
) -> Iterator[None]:
    """Let the block read the files within limits, in a fork of this process if one is of another system.

    `limit_s` is the command's time limit, and `left_s` returns how much of it is left.
    """
    count = None
    if OneCommand.is_run and sys.platform == "linux":
        with suppress(TimeoutError):  # The block then ends at once, with the error of its time limit.
            count = run_in_thread(lambda: _foreign_bytes(paths), left_s=left_s)
    if count is None or (_Guard.watch is None and threading.active_count() > 1):
        yield
        return
    if _Guard.watch is None:
        try:
            _Guard.watch = go_on_in_fork()
        except LostForkError as lost:
            _say_lost(lost, limit_s)
            raise SystemExit(WRONG_INPUT) from None
    most = _MOST_BYTES + _MOST_A_BYTE * count + _MOST_A_SMALL_BYTE * min(count, _SMALL_FILE)
    _Guard.watch.limit(", ".join(paths), ForkLimits(most, None if limit_s is None else left_s() + _GRACE_S))
    try:
        yield
    finally:
        _Guard.watch.limit()


def _say_lost(lost: LostForkError, limit_s: float | None) -> None:
    if lost.cause == "time":
        rule = f"time-limit: must be enough for an answer, got {limit_s:g}"
    elif lost.cause == "memory":
        rule = f"{lost.what}: must be parsed within {lost.limits.most_bytes} bytes of memory, got more"
    else:
        rule = f"{lost.what}: cannot be read: its reader ended with status {lost.cause}"
    print_message(f"memplan: error: {rule}")


def _foreign_bytes(paths: Sequence[str]) -> int | None:
    """Return the size in bytes of the files of other systems; None if there is none."""
    sizes = []
    for path in paths:
        with suppress(OSError, ValueError, InputError):  # Reading the file reports the error.
            if detect(data := read_bytes(path), path) is not None:
                sizes.append(len(data))
    return sum(sizes) if sizes else None
