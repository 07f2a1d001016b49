"""How much is tested: few drawn cases in the gate, more where `lab.deep` runs them; and until when."""

from __future__ import annotations

import math
import os
import time

DEPTH = int(os.environ.get("MEMPLAN_TESTS_DEPTH", "1"))
"""What the numbers of cases of the gate are multiplied by."""
GRACE_S = 10.0
"""How late an answer may be in a test: benchmarks hold limits to a tenth, but a machine may stand still for seconds."""

BEGAN, ENDS = "MEMPLAN_TESTS_BEGAN", "MEMPLAN_TESTS_END"
"""The variables that say when the gate began and when no test shall begin any more, in seconds since 1970."""


def is_late(is_long: bool) -> bool:
    """Return whether the time of the gate is over, where it has one (`.ci/run`); a long test has half of it."""
    ends = float(os.environ.get(ENDS, math.inf))
    if is_long and math.isfinite(ends):
        ends = (float(os.environ[BEGAN]) + ends) / 2
    return time.time() > ends


def seeds(count: int, first: int = 0) -> range:
    """Return the seeds of a test that draws so many cases in the gate; it is marked `drawn`."""
    return range(first, first + count * DEPTH)
