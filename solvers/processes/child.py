"""The parent's side of a child process: it sends tasks, reads messages, and kills the child at a limit.

A child has its own process group, so that all descendants end with the child. It stays in the session of its parent,
because niceness counts only within a session. Tasks are pickled, because this process creates them. Messages from the
child are JSON with arrays and never pickles, because untrusted input may influence them.
"""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic_core import from_json

from memplan.solvers.processes.harden import plain_environment

_LOOK_EVERY_S = 0.02
_REAP_EVERY_S = 0.002
_LEAST_MEMORY_BYTES, _MEMORY_A_BYTE = 2**30, 16
"""The memory limit of a child that reads a file: 1 GiB, or 16 times the size of a large file."""


def reading_memory(count: int) -> int:
    """Return the memory limit, in bytes, of a child that reads a file of `count` bytes."""
    return max(_LEAST_MEMORY_BYTES, _MEMORY_A_BYTE * count)


def command(module: str) -> list[str]:
    """Return the command that runs a module of memplan as a child process."""
    return [sys.executable, "-P", "-m", module]


def start_module(
    module: str, environment: Mapping[str, str] | None, complaints: IO[bytes] | int | None, line: int | None = None
) -> subprocess.Popen[bytes]:
    """Start a module of memplan in its own process group, with an environment that holds no secrets.

    The parent communicates with it by pipes or, if `line` is given, by the socket with this descriptor. `complaints`
    receives its stderr.
    """
    return subprocess.Popen(
        command(module),
        stdin=subprocess.PIPE if line is None else line,
        stdout=subprocess.PIPE if line is None else subprocess.DEVNULL,
        stderr=subprocess.DEVNULL if complaints is None else complaints,
        process_group=0,
        env=plain_environment() | dict(environment or {}),
    )


@dataclass
class ForkedProcess:
    """A child process that was forked: its id, its pipes, and its exit status, which is None while it runs."""

    pid: int
    stdin: IO[bytes]
    stdout: IO[bytes]
    returncode: int | None = None


class ChildProcess:
    """A child process that runs a module until the `with` block ends or a limit is exceeded.

    It is killed once `is_over()`, which a thread calls, returns True, or once it uses more than `most_bytes` of memory.
    `stopped_by` then names the limit, and its messages end. A child with several tasks gets new limits by `limit` for
    each task. The CPU time and the peak memory of the child and its descendants are known once it has ended. Its
    environment has the harmless variables of this process and those in `environment`. `niceness` is added to the
    niceness of this process.
    """

    stopped_by: Literal["over", "memory"] | None = None
    cpu_time_s = 0.0
    peak_rss_bytes = 0

    def __init__(
        self,
        module: str | ForkedProcess,
        is_over: Callable[[], bool] | None = None,
        most_bytes: int | None = None,
        environment: Mapping[str, str] | None = None,
        complaints: IO[bytes] | int | None = None,
        niceness: int = 0,
    ) -> None:
        """Start the child or adopt a forked process, set its niceness, and start the thread that checks its limits."""
        self._popen = module if isinstance(module, ForkedProcess) else start_module(module, environment, complaints)
        if niceness and sys.platform != "win32":
            os.setpriority(os.PRIO_PROCESS, self._popen.pid, os.nice(0) + niceness)
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self._questions: IO[bytes] = self._popen.stdin
        self._answers: IO[bytes] = self._popen.stdout
        self._reaping = threading.Lock()
        self._closing, self._is_limited = threading.Event(), threading.Event()
        self.limit(is_over, most_bytes)
        threading.Thread(target=self._enforce_limits, daemon=True).start()

    @property
    def pid(self) -> int:
        """The process id of the child."""
        return self._popen.pid

    def limit(self, is_over: Callable[[], bool] | None = None, most_bytes: int | None = None) -> None:
        """Set new limits for the child; without limits, the child is not checked."""
        self._limits = is_over, most_bytes
        if is_over is None and most_bytes is None:
            self._is_limited.clear()
        else:
            self._is_limited.set()

    def give(self, task: object) -> None:
        """Send a task to the child, unless the child has ended."""
        with contextlib.suppress(BrokenPipeError):
            pickle.dump(task, self._questions, pickle.HIGHEST_PROTOCOL)
            self._questions.flush()

    def start(self) -> None:
        """Send the signal to begin to a child that waits for it."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._questions.fileno(), b".")

    def answer(self) -> Any:
        """Return the child's next message, with lists as tuples; raises EOFError at the end, ValueError if invalid."""
        line = self._answers.readline()
        if not line.endswith(b"\n"):
            raise EOFError
        return self._join_arrays(from_json(line))

    def _join_arrays(self, value: Any) -> Any:
        """Return a JSON value in which each array is replaced by its content, read from the bytes after the line."""
        if isinstance(value, dict):
            return (
                self._read_array(*value[""])
                if "" in value
                else {name: self._join_arrays(one) for name, one in value.items()}
            )
        if isinstance(value, list):
            return tuple(value if {list, dict}.isdisjoint(map(type, value)) else map(self._join_arrays, value))
        return value

    def _read_array(self, kind: str, shape: Sequence[int]) -> npt.NDArray[Any]:
        """Read an array of the given type and shape from the child's pipe; raises EOFError if bytes are missing."""
        count = np.dtype(kind).itemsize * prod(shape)
        data = self._answers.read(count)
        if len(data) < count:
            raise EOFError
        return np.frombuffer(data, kind).reshape(shape)

    def wait(self) -> int:
        """Wait until the child has ended, and return its exit status, which is negative for a signal."""
        while not self.has_ended():
            time.sleep(_REAP_EVERY_S)
        return self._popen.returncode or 0

    def kill(self) -> int:
        """Kill the child and its process group, unless it has ended, and return its exit status."""
        with self._reaping:
            self._kill_group()
        return self.wait()

    def close(self) -> None:
        """Kill the child and close its pipes; afterwards, no thread may use them."""
        self._closing.set()
        self._is_limited.set()
        self.kill()
        for pipe in (self._questions, self._answers):
            with contextlib.suppress(OSError):  # Closing a pipe fails if the child has not read its task.
                pipe.close()

    def __enter__(self) -> "ChildProcess":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _enforce_limits(self) -> None:
        """Check the child regularly in a thread, and kill it once it exceeds a limit."""
        while self._is_limited.wait() and not self._closing.is_set():
            is_over, most_bytes = self._limits
            if is_over is not None and is_over():
                self.stopped_by = "over"
            # A parser that calls `abort` without memory could hang, so do not use the system's memory limit.
            elif most_bytes is not None and memory_in_use(self.pid) > most_bytes:
                self.stopped_by = "memory"
            if self.stopped_by is not None:
                with self._reaping:
                    self._kill_group()
                return
            self._closing.wait(_LOOK_EVERY_S)

    def _kill_group(self) -> None:
        if self._popen.returncode is not None:  # The id of an ended child may now belong to another process.
            return
        if sys.platform == "win32":
            self._popen.kill()
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def has_ended(self) -> bool:
        """Return True once the child has exited or was killed; its exit status is then recorded."""
        with self._reaping:
            if sys.platform == "win32":
                return self._popen.poll() is not None
            if self._popen.returncode is None:
                self._popen.returncode = self._exit_status()
            return self._popen.returncode is not None

    def _exit_status(self) -> int | None:
        """Return the exit status of the child, or None while it runs; at its end, record its use of resources."""
        try:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
        except ChildProcessError:  # Other code has read the child's status, so none is left.
            return -signal.SIGKILL
        if pid == 0:
            return None
        self.cpu_time_s, self.peak_rss_bytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
        return os.waitstatus_to_exitcode(status)


def memory_in_use(pid: int, *, is_fork: bool = False) -> int:
    """Return the memory in bytes that a process and its descendants use; 0 if there is no such process.

    A forked child shares the memory of its parent, so only the programs that it started are counted.
    """
    import psutil

    found = 0
    with contextlib.suppress(psutil.Error):
        found = 0 if is_fork else int(psutil.Process(pid).memory_info().rss)
    for child in _child_ids(pid):
        with contextlib.suppress(OSError):
            command, parents = (Path(f"/proc/{each}/cmdline").read_bytes() for each in (child, pid))
            found += memory_in_use(child, is_fork=command == parents)
    return found


def _child_ids(pid: int) -> Iterator[int]:
    """Yield the ids of a process's children, as Linux lists them; on other systems, yield none.

    Scanning all processes instead would take milliseconds.
    """
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            yield from map(int, (task / "children").read_text().split())
