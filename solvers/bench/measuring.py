"""One run, measured from outside: a process of its own, with limits, watched by a clock that is not the solver's."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import IO, Any

from memplan.solvers.bench.results import Moment, Result
from memplan.solvers.bench.worker import BenchTask

GRACE_S = 5.0
"""Seconds after its time limit at which a run is stopped; solvers keep their own limit, and some peers a little late.
"""
PREPARATION_LIMIT_S = 300.0
"""For imports, reading or making the instance, and compiling kernels; and again for checking the plan."""
_LOOK_EVERY_S = 0.05


def measure(job: BenchTask, cancelled: threading.Event | None = None) -> Result:
    """Run a job in a process of its own and return what came of it; whatever happens there becomes a row.

    The process is killed, and the row worth nothing, when `cancelled` is set.
    """
    started = datetime.now(UTC).isoformat(timespec="seconds")
    load_average = round(os.getloadavg()[0], 2)
    with tempfile.TemporaryFile() as complaints:
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "memplan.solvers.bench.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            start_new_session=True,
        )
        try:
            facts = _watched(child, job, cancelled or threading.Event())
        finally:
            status, usage = _ended(child)
        if "outcome" not in facts:
            facts |= _unfinished(status, complaints)
    used = usage.ru_utime + usage.ru_stime
    if "ready" in facts:
        facts["cpu_time_s"] = round(facts.pop("done", used) - facts.pop("ready"), 6)
        facts.setdefault("peak_rss_bytes", usage.ru_maxrss * 1024)
    return Result(
        instance=job.instance,
        solver=job.solver,
        seed=job.seed,
        time_limit_s=job.time_limit_s,
        process_cpu_s=round(used, 6),
        started=started,
        load_average=load_average,
        machine=machine(),
        **facts,
    )


def _watched(child: subprocess.Popen[bytes], job: BenchTask, cancelled: threading.Event) -> dict[str, Any]:
    """Give the job, start it when it is ready, and return its messages, merged, and how long it took."""
    assert child.stdin is not None
    assert child.stdout is not None
    with child.stdin as orders, child.stdout as answers:
        _send(orders, job.to_json())
        with _stopped_after(PREPARATION_LIMIT_S, child, cancelled) as is_late:
            facts = _message(answers)
        if is_late.is_set():
            facts |= {"outcome": "failed", "message": f"was not ready after {PREPARATION_LIMIT_S:g} s"}
        if "ready" in facts:
            with _stopped_after(job.time_limit_s + GRACE_S, child, cancelled) as is_late:
                facts |= _timed(orders, answers)
            if is_late.is_set():
                facts |= {"outcome": "late", "message": f"stopped {GRACE_S:g} s after its time limit"}
        if "done" in facts:
            with _stopped_after(PREPARATION_LIMIT_S, child, cancelled):
                facts |= _message(answers)
    return facts


def _timed(orders: IO[bytes], answers: IO[bytes]) -> dict[str, Any]:
    """Start the run that is ready, follow it to its end, and time it."""
    curve: list[Moment] = []
    begin = time.monotonic()
    _send(orders, "start")
    while "moment" in (message := _message(answers)):
        elapsed_s, peak, bound = message["moment"]
        curve.append(Moment(wall_time_s=round(elapsed_s, 6), peak=peak, lower_bound=bound))
    return {"wall_time_s": round(time.monotonic() - begin, 6), "curve": tuple(curve), **message}


def _send(orders: IO[bytes], line: str) -> None:
    # A process that is already gone says so by its exit status. Nothing is left in a buffer, to be missed later.
    with contextlib.suppress(BrokenPipeError):
        os.write(orders.fileno(), line.encode() + b"\n")


def _message(answers: IO[bytes]) -> dict[str, Any]:
    """Return the next message; empty where the process has ended."""
    line = answers.readline()
    message: dict[str, Any] = json.loads(line) if line.endswith(b"\n") else {}
    return message


@contextmanager
def _stopped_after(
    seconds: float, child: subprocess.Popen[bytes], cancelled: threading.Event
) -> Iterator[threading.Event]:
    """Kill the process and its group when the time is over, or all is cancelled; the event tells that it was late."""
    deadline = time.monotonic() + seconds
    is_over, is_late = threading.Event(), threading.Event()

    def watch() -> None:
        while not is_over.wait(_LOOK_EVERY_S):
            if time.monotonic() > deadline:
                is_late.set()
            if is_late.is_set() or cancelled.is_set():
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield is_late
    finally:
        is_over.set()
        watcher.join()


def _ended(child: subprocess.Popen[bytes]) -> tuple[int, resource.struct_rusage]:
    """Wait for the process; return its exit status (negative: the signal) and all that it used, children included."""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage


def _unfinished(status: int, complaints: IO[bytes]) -> dict[str, Any]:
    """Say why a process ended without an outcome: its status, and the last line that it wrote."""
    complaints.seek(0)
    text = complaints.read().decode(errors="replace").strip()
    how = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
    last = text.splitlines()[-1] if text else "it said nothing"
    is_memory = "MemoryError" in text or "bad_alloc" in text
    return {"outcome": "memory" if is_memory else "failed", "message": f"its process ended with {how}: {last[:200]}"}


@cache
def machine() -> str:
    """Describe this machine: its processor, cores and system."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    system = f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    return f"{model or platform.machine()}, {os.cpu_count()} cores, {system}"
