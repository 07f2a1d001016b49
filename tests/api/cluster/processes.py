"""Processes of clusters, found and killed by tests."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[3]
WORKER, ENGINE = "api.cluster.worker_process", "solvers.isolation"


def below(pid: int, module: str) -> list[psutil.Process]:
    """Return the processes below one that run a module of ours."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return [child for child in psutil.Process(pid).children(recursive=True) if runs(child, module)]
    return []


def workers() -> list[psutil.Process]:
    """Return the worker processes of the tests' own process."""
    return below(os.getpid(), WORKER)


def runs(process: psutil.Process, module: str) -> bool:
    """Say whether a process lives and runs a module."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE and module in process.cmdline()
    return False


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@contextmanager
def command(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run `memplan` with its own session, and end it with the block."""
    memplan = [sys.executable, "-m", "api.cli.main", *arguments]
    process = subprocess.Popen(memplan, cwd=ROOT, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def kill(process: psutil.Process) -> None:
    """Kill a process as nothing can prevent."""
    process.send_signal(signal.SIGKILL)
