"""Ctrl-C in a script that plans: KeyboardInterrupt, long before the time limit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import public_problems

ROOT = Path(__file__).parents[2]
HARD = public_problems.FOLDER / "minimalloc" / "J.1048576.csv"
SCRIPT = """
import os, signal, sys, threading
import memplan

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background job does not have

def interrupt(_event):
    os.kill(os.getpid(), signal.SIGINT)

control = memplan.Control(report=interrupt)
try:
    memplan.solve(memplan.read_problem(sys.argv[1]), time_limit_s=600, solver=sys.argv[2], control=control)
except KeyboardInterrupt:
    calls = [thread for thread in threading.enumerate() if thread.name == "memplan-work"]
    for thread in calls:
        thread.join(60)
    print("interrupted", control.cancelled.is_set(), any(thread.is_alive() for thread in calls))
"""
OWN_HANDLER = """
import signal, threading
import memplan

threads = []
control = memplan.Control(report=lambda _: threads.append(threading.current_thread()))
rows = [{"id": k, "size": 64, "start": k, "end": k + 2} for k in range(4)]
signal.signal(signal.SIGINT, lambda *_: None)
memplan.solve({"buffers": rows}, control=control)
print({thread.name for thread in threads} <= {"MainThread"})
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a process of Windows sends no SIGINT to itself")
@pytest.mark.parametrize("solver", ["auto", "exact"])
def test_ctrl_c_in_a_script_raises_keyboard_interrupt_and_stops_the_search(solver: str) -> None:
    command = [sys.executable, "-c", SCRIPT, str(HARD), solver]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("interrupted True False\n", "")


def test_a_custom_sigint_handler_of_the_caller_is_not_replaced() -> None:
    command = [sys.executable, "-c", OWN_HANDLER]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")
