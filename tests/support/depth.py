"""The amount of testing: few drawn cases in the gate, more in `lab.deep`; and the time limit of the gate."""

from __future__ import annotations

import math
import os
import time

DEPTH = int(os.environ.get("MEMPLAN_TESTS_DEPTH", "1"))
"""The factor on the numbers of drawn cases in the gate."""
GRACE_S = 10.0
"""The factor by which an answer may be late in a test, since a machine may stall for seconds."""

BEGAN, ENDS = "MEMPLAN_TESTS_BEGAN", "MEMPLAN_TESTS_END"
"""The variables with the times at which the gate began and at which no more test may begin, in seconds since 1970."""


def is_late(is_long: bool) -> bool:
    """True if the time of the gate (`.ci/run`) is over; a long test may only begin in the first half of it."""
    ends = float(os.environ.get(ENDS, math.inf))
    if is_long and math.isfinite(ends):
        ends = (float(os.environ[BEGAN]) + ends) / 2
    return time.time() > ends


def seeds(count: int, first: int = 0) -> range:
    """Return the seeds of a test that draws `count` cases in the gate, and more in deep runs; it is marked `drawn`."""
    return range(first, first + count * DEPTH)
