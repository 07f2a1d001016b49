"""A process that goes on in a fork of itself, which it then only watches: limits hold even where C code never returns.

The fork has a process group of its own, so that a signal from a terminal arrives once, by this process.
"""

import json
import os
import select
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from memplan.solvers.processes.harden import die_with_parent

_LOOK_EVERY_S = 0.01
_FORWARDED = (signal.SIGINT, signal.SIGTERM)


class ForkLimits(NamedTuple):
    """The most bytes of memory and seconds of a fork, of which those of the wall and of its CPU both count."""

    most_bytes: int
    limit_s: float | None = None


class LostForkError(Exception):
    """The watched fork died of a signal, or was killed at a limit, while it did `what`, within `limits`."""

    def __init__(self, what: str, limits: ForkLimits, cause: Literal["memory", "time"] | int) -> None:
        """Store the limit that was exceeded, or the status of a fork that died."""
        super().__init__(what)
        self.what, self.limits, self.cause = what, limits, cause


@dataclass(frozen=True)
class Watch:
    """The fork's line to the process that watches it."""

    writing: int

    def limit(self, what: str = "", limits: ForkLimits | None = None) -> None:
        """Set the limits of what the fork does from now on; without limits, it is only waited for."""
        os.write(self.writing, json.dumps([what, limits]).encode() + b"\n")


def go_on_in_fork() -> Watch:
    """Fork this process and return in the fork only; this process ends at once as the fork does, with its status.

    In this process, LostForkError is raised if the fork exceeds its limits, or dies within them.
    """
    reading, writing = os.pipe()
    # A signal that arrives before this process can forward it waits.
    signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)
    if (pid := os.fork()) == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _FORWARDED)
        os.setpgid(0, 0)
        die_with_parent()
        os.close(reading)
        return Watch(writing)
    os.close(writing)

    def forward(number: int, _frame: Any) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, number)

    def pause(_number: int, _frame: Any) -> None:
        os.kill(pid, signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        os.kill(pid, signal.SIGCONT)

    for number in _FORWARDED:
        signal.signal(number, forward)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _FORWARDED)
    signal.signal(signal.SIGTSTP, pause)
    os._exit(_watch(pid, reading))


def _watch(pid: int, reading: int) -> int:
    """Wait for a fork's end and return its exit status; raises LostForkError, at its limits after killing it."""
    limits: ForkLimits | None = None
    what, began, cpu_began_s, heard = "", 0.0, 0.0, b""
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if select.select([reading], [], [], _LOOK_EVERY_S)[0]:
            if not (part := os.read(reading, 1 << 12)):
                break
            *lines, heard = (heard + part).split(b"\n")
            for line in lines:
                what, said = json.loads(line)
                limits = None if said is None else ForkLimits(*said)
                began, cpu_began_s = time.monotonic(), _usage(pid)[1]
        elif limits is not None:
            size, cpu_s = _usage(pid)
            passed_s = min(time.monotonic() - began, cpu_s - cpu_began_s)
            is_late = limits.limit_s is not None and passed_s > limits.limit_s
            if is_late or size > limits.most_bytes:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                raise LostForkError(what, limits, "time" if is_late else "memory")
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status < 0 and limits is not None:
        raise LostForkError(what, limits, status)
    return status


def _usage(pid: int) -> tuple[int, float]:
    """Return a process's memory in bytes and its CPU seconds, as Linux states them; zeros once it has ended."""
    with suppress(OSError, IndexError):
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return pages * os.sysconf("SC_PAGE_SIZE"), sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    return 0, 0.0
