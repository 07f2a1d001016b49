"""Child processes that may be killed at any time: a module of ours, its two pipes, and its end.

The parent writes questions and reads answers; what it says with them is its own affair. A child runs in a group of
its own, so that whatever it started ends with it, but in the session of its parent, in which niceness counts.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import IO

_NO_SETTINGS: Mapping[str, str] = {}


class ChildProcess:
    """A child that runs `python -m module`; as a context manager, it is killed and its pipes are closed at the end."""

    def __init__(self, module: str, settings: Mapping[str, str] = _NO_SETTINGS) -> None:
        self._popen = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
            env=os.environ | dict(settings),
        )
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self.questions: IO[bytes] = self._popen.stdin
        self.answers: IO[bytes] = self._popen.stdout

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._popen.pid

    @property
    def is_running(self) -> bool:
        """True until it has ended."""
        return self._popen.poll() is None

    def wait(self) -> int:
        """Return its exit status, once it has ended by itself or was killed."""
        return self._popen.wait()

    def kill(self) -> int:
        """Kill it with all that it started, and return its exit status; whoever reads its answers meets their end."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        return self.wait()

    def close(self) -> None:
        """Kill it, and close its pipes; no thread may read or write these any more."""
        self.kill()
        for pipe in (self.questions, self.answers):
            with contextlib.suppress(OSError):  # a question that nobody took is given up
                pipe.close()

    def __enter__(self) -> ChildProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def answers_of_this_process() -> IO[bytes]:
    """Return, in a child, the pipe to its parent; what libraries print goes to standard error from then on."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def end_with_parent() -> None:
    """Have this child, and all that it started, end when the pipe of questions closes: its parent is gone."""
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os.killpg(0, signal.SIGKILL)
