"""The most threads that a search may have: as MEMPLAN_THREADS says, or as many as there are processors."""

from __future__ import annotations

import os
from contextlib import suppress
from math import ceil
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")
SETTING = "MEMPLAN_THREADS"


def processors(cgroup: Path = _CGROUP) -> int:
    """Return how many processors this process may use: the least of its affinity and the quota of its container.

    A quota of cgroup v2 is in `cpu.max`, that of v1 in `cpu/cpu.cfs_quota_us`; a part of a processor counts as one.
    """
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        with suppress(OSError, ValueError):  # there is none, or it is `max`
            quota, period = map(int, " ".join((cgroup / name).read_text() for name in names).split())
            if quota > 0 and period > 0:
                count = min(count, ceil(quota / period))
    return count


def most_threads() -> int | None:
    """Return the most threads that a search and its engines may have together; None where nobody says."""
    text = os.environ.get(SETTING, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        # Imported here: the command reads this before it imports anything.
        from memplan.planner.errors import OptionError, shown

        raise OptionError(f"{SETTING}: must be a number of threads, at least 1, got {shown(text)}")
    return int(text)


def solvers_beside(count: int) -> int:
    """Return how many of so many solvers run side by side: with a limit, half of it, as one may have the others."""
    most = most_threads()
    return count if most is None else min(count, max(1, most // 2))


def threads_of_one() -> int:
    """Return the threads of one solver that takes several: with a limit, what those beside it leave."""
    most = most_threads()
    return processors() if most is None else most - max(1, most // 2) + 1
