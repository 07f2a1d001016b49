"""Solvers that misbehave in ways observed in engines; they run in child processes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.solvers.search.incumbent import Search

PID_FILE = "PYTHON_TEST_PID_FILE"
"""The environment variable with the path of a file for the process ids of a solver and its child."""


def offers_then_sleeps(instance: Instance, search: Search) -> None:
    """Offer all buffers stacked in the last memory, then ignore every request to end."""
    _offer_a_tower(instance, search, "sleeper")
    _write_pids(os.getpid())
    time.sleep(600)


def has_a_sleeping_child(instance: Instance, search: Search) -> None:
    """Start a child process, as callers of CBC do, and wait for it."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as child:
        _write_pids(os.getpid(), child.pid)


def offers_then_raises(instance: Instance, search: Search) -> None:
    """Raise an error after an offer."""
    _offer_a_tower(instance, search, "raiser")
    raise RuntimeError("the engine fell over")


def prints_garbage(instance: Instance, search: Search) -> None:
    """Write to standard output, from Python and from C, before and after an offer."""
    print("Welcome to the engine", flush=True)
    os.write(1, b"\x80\x04garbage" * 1000)
    _offer_a_tower(instance, search, "printer")
    os.write(1, b"bye")


def writes_among_the_answers(instance: Instance, search: Search) -> None:
    """Write to every open file, including the pipe to the parent."""
    for handle in range(3, 16):
        try:
            os.write(handle, b"\x80\x04garbage" * 1000)
        except OSError:
            continue


def is_killed(instance: Instance, search: Search) -> None:
    """Kill this process, as the out-of-memory killer would."""
    _offer_a_tower(instance, search, "victim")
    os.kill(os.getpid(), signal.SIGKILL)


def returns_without_a_word(instance: Instance, search: Search) -> None:
    """Return without an offer."""


def _offer_a_tower(instance: Instance, search: Search, by: str) -> None:
    search.offer(np.full(len(instance), len(instance.pools) - 1), np.cumsum(instance.size) - instance.size, by)


def _write_pids(*pids: int) -> None:
    path = Path(os.environ[PID_FILE])
    part = path.with_suffix(".part")
    part.write_text(" ".join(map(str, pids)))
    part.rename(path)
