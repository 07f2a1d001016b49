"""The measurement of a run in a separate process, whose time is measured and limited by the parent process."""

import math
import os
import platform
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import IO, Any

from memplan.extensions.bench.results import Moment, Result
from memplan.extensions.bench.worker import BenchTask
from memplan.solvers.processes.child import ChildProcess

GRACE_S = 5.0
"""The seconds after its time limit at which a run is killed; some planners end a little late."""
PREPARATION_LIMIT_S = 300.0
"""The limit in seconds for preparing a run (imports, reading the problem), and the same for checking the plan."""


def measure(job: BenchTask, is_cancelled: Callable[[], bool] = lambda: False) -> Result:
    """Run a benchmark job in a separate process, and return its result row, also if the process fails.

    Once `is_cancelled` returns True, the process is killed, and the row is not a valid measurement.
    """
    started = datetime.now(UTC).isoformat(timespec="seconds")
    load_average = round(os.getloadavg()[0], 2)
    clock = _Clock(is_cancelled)
    with tempfile.TemporaryFile() as complaints:
        with ChildProcess("memplan.extensions.bench.worker", clock.is_over, complaints=complaints) as child:
            facts = _run_job(child, job, clock)
            status = child.kill() if "outcome" in facts else child.wait()
        if "outcome" not in facts:
            facts |= _failure_facts(status, complaints)
    if "ready" in facts:
        facts["cpu_time_s"] = round(facts.pop("done", child.cpu_time_s) - facts.pop("ready"), 6)
        facts.setdefault("peak_rss_bytes", child.peak_rss_bytes)
    return Result(
        instance=job.instance,
        solver=job.solver,
        seed=job.seed,
        time_limit_s=job.time_limit_s,
        process_cpu_s=round(child.cpu_time_s, 6),
        started=started,
        load_average=load_average,
        machine=machine(),
        **facts,
    )


@dataclass(eq=False)
class _Clock:
    """The time at which a run's process is killed; each phase of the run (prepare, solve, check) sets a new time."""

    is_cancelled: Callable[[], bool]
    end: float = math.inf

    def set(self, limit_s: float) -> None:
        """Set the kill time to `limit_s` seconds from now."""
        self.end = time.monotonic() + limit_s

    def is_over(self) -> bool:
        """Return True if the kill time has passed, or the run was cancelled."""
        return time.monotonic() > self.end or self.is_cancelled()


def _run_job(child: ChildProcess, job: BenchTask, clock: _Clock) -> dict[str, Any]:
    """Send a job to its process, and start the job once the process is ready; return the fields of all messages."""
    clock.set(PREPARATION_LIMIT_S)
    child.give(job)
    facts = _next_message(child)
    if "ready" in facts:
        clock.set(job.time_limit_s + GRACE_S)
        facts |= _time_run(child)
        if child.stopped_by is not None:
            facts |= {"outcome": "late", "message": f"stopped {GRACE_S:g} s after its time limit"}
    elif child.stopped_by is not None:
        facts |= {"outcome": "failed", "message": f"was not ready after {PREPARATION_LIMIT_S:g} s"}
    clock.set(PREPARATION_LIMIT_S)
    return facts | _next_message(child) if "done" in facts else facts


def _time_run(child: ChildProcess) -> dict[str, Any]:
    curve: list[Moment] = []
    begin = time.monotonic()
    child.start()
    while "moment" in (message := _next_message(child)):
        elapsed_s, peak, bound = message["moment"]
        curve.append(Moment(wall_time_s=round(elapsed_s, 6), peak=peak, lower_bound=bound))
    return {"wall_time_s": round(time.monotonic() - begin, 6), "curve": tuple(curve), **message}


def _next_message(child: ChildProcess) -> dict[str, Any]:
    try:
        message: dict[str, Any] = child.answer()
    except EOFError:
        return {}
    return message


def _failure_facts(status: int, complaints: IO[bytes]) -> dict[str, Any]:
    complaints.seek(0)
    text = complaints.read().decode(errors="replace").strip()
    how = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
    last = text.splitlines()[-1] if text else "it said nothing"
    is_memory = "MemoryError" in text or "bad_alloc" in text
    return {"outcome": "memory" if is_memory else "failed", "message": f"its process ended with {how}: {last[:200]}"}


@cache
def machine() -> str:
    """Return a description of this machine: processor, number of cores, operating system, and Python version."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    system = f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    return f"{model or platform.machine()}, {os.cpu_count()} cores, {system}"
