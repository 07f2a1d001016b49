"""Processes of a service, which tests find and kill."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
WORKER, ENGINE = "memplan.api.workers.child", "memplan.solvers.portfolio.subprocess_solver"


def child_processes(pid: int, module: str) -> list[psutil.Process]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return [child for child in psutil.Process(pid).children(recursive=True) if runs(child, module)]
    return []


def workers() -> list[psutil.Process]:
    return child_processes(os.getpid(), WORKER)


def runs(process: psutil.Process, module: str) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE and module in process.cmdline()
    return False


@contextmanager
def command(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run `memplan` in a separate session, and end it with the block."""
    memplan = [sys.executable, "-m", "memplan.api.cli.main", *arguments]
    process = subprocess.Popen(memplan, cwd=ROOT, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def kill(process: psutil.Process) -> None:
    process.send_signal(signal.SIGKILL)
