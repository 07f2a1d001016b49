"""How many cases are drawn by tests that draw theirs: few in the gate, more where `lab.deep` runs them."""

from __future__ import annotations

import os

DEPTH = int(os.environ.get("MEMPLAN_TESTS_DEPTH", "1"))
"""What the numbers of cases of the gate are multiplied by."""


def seeds(count: int, first: int = 0) -> range:
    """Return the seeds of a test that draws so many cases in the gate; it is marked `drawn`."""
    return range(first, first + count * DEPTH)
