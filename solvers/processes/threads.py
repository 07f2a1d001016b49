"""The most threads that a search may have: as MEMPLAN_THREADS says, or as many as there are processors."""

from __future__ import annotations

import os

SETTING = "MEMPLAN_THREADS"


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
    return os.cpu_count() or 1 if most is None else most - max(1, most // 2) + 1
