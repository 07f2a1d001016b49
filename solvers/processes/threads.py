"""The thread limit of a search: MEMPLAN_THREADS, or else the number of processors."""

from __future__ import annotations

import os
from contextlib import suppress
from math import ceil
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")
SETTING = "MEMPLAN_THREADS"


def processors(cgroup: Path = _CGROUP) -> int:
    """Return the number of usable processors: the minimum of the affinity and the container's quota.

    The quota is in `cpu.max` (cgroup v2) or `cpu/cpu.cfs_quota_us` (v1). A fraction of a processor counts as one.
    """
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        with suppress(OSError, ValueError):  # The quota may be missing, or be the word `max`.
            quota, period = map(int, " ".join((cgroup / name).read_text() for name in names).split())
            if quota > 0 and period > 0:
                count = min(count, ceil(quota / period))
    return count


def max_threads() -> int | None:
    """Return the thread limit of a search together with its engines, or None if there is no limit."""
    text = os.environ.get(SETTING, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        from memplan.planner.errors import OptionError, excerpt

        raise OptionError(f"{SETTING}: must be a number of threads, at least 1, got {excerpt(text)}")
    return int(text)


def solvers_beside(count: int) -> int:
    """Return the number of solvers, out of `count`, that run side by side: all, or half of a thread limit."""
    most = max_threads()
    return count if most is None else min(count, max(1, most // 2))


def threads_of_one() -> int:
    """Return the number of threads for one multithreaded solver: all processors, or the rest of a thread limit."""
    most = max_threads()
    return processors() if most is None else most - max(1, most // 2) + 1
