"""Guarded reading of other systems' files: a command reads them in a fork, within limits of memory and time.

The readers bound what they do by the bytes of a file. The guard is for faults in them, and for parsers in C, which let
neither a signal nor a time limit through. It costs a fork, so only files of other systems are guarded, and only on
Linux, which tells the memory of a process.
"""

import stat
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

from memplan.api.cli.running import WRONG_INPUT, OneCommand
from memplan.api.cli.streams import STANDARD, is_terminal, print_message
from memplan.planner.errors import InputError
from memplan.planner.foreign.reading import detect
from memplan.solvers.processes.watched import ForkLimits, LostForkError, Watch, go_on_in_fork

_MOST_BYTES, _MOST_A_BYTE = 3 << 27, 16
"""The memory of reading a file: 384 MiB, or 16 times the size of a large file, as in the service."""
_GRACE_S = 0.3
"""The seconds after a time limit in which a command that is not held up ends by itself."""


class _Guard:
    """The guard of this process: its line to the process that watches it, once it is a fork of that."""

    watch: ClassVar[Watch | None] = None


@contextmanager
def guarded_reading(paths: Sequence[str], limit_s: float | None) -> Iterator[None]:
    """Let the block read the files within limits, in a fork of this process if one is of another system."""
    count = _foreign_bytes(paths) if OneCommand.is_run and sys.platform == "linux" else None
    if count is None or (_Guard.watch is None and threading.active_count() > 1):
        yield
        return
    if _Guard.watch is None:
        try:
            _Guard.watch = go_on_in_fork()
        except LostForkError as lost:
            _say_lost(lost)
            raise SystemExit(WRONG_INPUT) from None
    most = max(_MOST_BYTES, _MOST_A_BYTE * count)
    _Guard.watch.limit(", ".join(paths), ForkLimits(most, None if limit_s is None else limit_s + _GRACE_S))
    try:
        yield
    finally:
        _Guard.watch.limit()


def _say_lost(lost: LostForkError) -> None:
    if lost.cause == "time":
        rule = f"time-limit: must be enough for an answer, got {(lost.limits.limit_s or 0.0) - _GRACE_S:g}"
    elif lost.cause == "memory":
        rule = f"{lost.what}: must be parsed within {lost.limits.most_bytes} bytes of memory, got more"
    else:
        rule = f"{lost.what}: cannot be read: its reader ended with status {lost.cause}"
    print_message(f"memplan: error: {rule}")


def _foreign_bytes(paths: Sequence[str]) -> int | None:
    """Return the size in bytes of the files of other systems; None if there is none. A pipe may hold such a file."""
    sizes = []
    for path in paths:
        with suppress(OSError, ValueError, InputError):  # Reading the file reports the error.
            if path == STANDARD:
                sizes += [] if is_terminal(sys.stdin) else [0]
            elif not stat.S_ISREG(Path(path).stat().st_mode):
                sizes.append(0)
            elif detect(data := Path(path).read_bytes(), path) is not None:
                sizes.append(len(data))
    return sum(sizes) if sizes else None
