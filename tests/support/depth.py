"""The number of random cases per test (few in the gate, more in `lab.deep`), and the gate's time limit."""

import math
import os
import time

DEPTH = int(os.environ.get("MEMPLAN_TESTS_DEPTH", "1"))
"""Factor by which the number of random cases exceeds that of the gate."""
GRACE_S = 10.0
"""Seconds by which an answer may be late in a test, because a machine may stall."""

BEGAN, ENDS = "MEMPLAN_TESTS_BEGAN", "MEMPLAN_TESTS_END"
"""The variables with the times at which the gate began and at which no more test may begin, in seconds since 1970."""


def is_late(is_long: bool) -> bool:
    """Return True if a test must not begin: the gate's time is over, or half of it for a long test."""
    ends = float(os.environ.get(ENDS, math.inf))
    if is_long and math.isfinite(ends):
        ends = (float(os.environ[BEGAN]) + ends) / 2
    return time.time() > ends


def seeds(count: int, first: int = 0) -> range:
    """Return the seeds of a test that draws `count` cases in the gate, and more in deep runs; it is marked `drawn`."""
    return range(first, first + count * DEPTH)
