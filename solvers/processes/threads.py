"""The limit on the threads of a search, from the variable MEMPLAN_THREADS or the number of processors."""

import os
from contextlib import suppress
from math import ceil
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")
SETTING = "MEMPLAN_THREADS"


def processors(cgroup: Path = _CGROUP) -> int:
    """Return the number of usable processors: the minimum of the affinity mask and the container's quota.

    The quota is in `cpu.max` (cgroup v2) or `cpu/cpu.cfs_quota_us` (v1). A fraction of a processor counts as one.
    """
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        with suppress(OSError, ValueError):  # A machine without a quota lacks the file, or the file says `max`.
            quota, period = map(int, " ".join((cgroup / name).read_text() for name in names).split())
            if quota > 0 and period > 0:
                count = min(count, ceil(quota / period))
    return count


def max_threads() -> int | None:
    """Return how many threads a search and its engines may use in total, or None if there is no limit."""
    text = os.environ.get(SETTING, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        from memplan.planner.errors import OptionError, excerpt

        raise OptionError(f"{SETTING}: must be a number of threads, at least 1, got {excerpt(text)}")
    return int(text)


def solvers_beside(count: int) -> int:
    """Return how many of `count` solvers may run side by side: all or, with a thread limit, half of that limit."""
    most = max_threads()
    return count if most is None else min(count, max(1, most // 2))


def processors_for(items: int, each: int) -> int:
    """Return how many processors may share work on some items, if `each` of these are worth one."""
    return solvers_beside(max(1, min(processors(), items // each)))


def threads_of_one() -> int:
    """Return the threads of a multithreaded solver: one per processor, or the part of a thread limit that is left."""
    most = max_threads()
    return processors() if most is None else most - max(1, most // 2) + 1
