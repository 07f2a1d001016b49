"""The tables of the ejection kernel, which places buffers below fixed ends and keeps most offsets; see ejection.hpp."""

from __future__ import annotations

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import CORE, F64, Flags, Rows

PLACED, GIVEN_UP, STOPPED = 1, 0, -1
"""Outcomes: all buffers are placed; some are not, after all rounds; flag[0] was set."""


class Homes(NamedTuple):
    """The input of ejection: `n` buffers, `p` pools, `r` reserved ranges; all offsets in units.

    Buffer i may be in pool q if may_use[q, i] is not 0, at lowest[q, i] + k * alignment[q, i] up to highest[q, i],
    where it still ends inside the pool. Its home is offset home[i] of pool home_pool[i], or ABSENT if it has no legal
    one. If `is_fixed`, it may only be at home. Conflicts are symmetric lists. The rows of `reserved` are (pool, low,
    high).
    """

    size: I64  # (n,)
    may_use: Rows  # (p, n)
    alignment: Rows  # (p, n)
    lowest: Rows  # (p, n)
    highest: Rows  # (p, n)
    home: I64  # (n,)
    home_pool: I64  # (n,)
    is_fixed: Flags  # (n,)
    near_first: I64  # (n + 1,)
    near: I64
    reserved: Rows  # (r, 3)


class Ejection(NamedTuple):
    """The placement, which is updated in place, and the queue of buffers without a place.

    The first `waiting[0]` entries of `queue` wait for a place; it has space for all buffers. `heat` is the weight of
    each buffer. `random[0]` is the state of the random numbers, not 0.
    """

    pool: I64  # (n,)
    offset: I64  # (n,), ABSENT: not placed
    heat: F64  # (n,)
    queue: I64  # (n,)
    waiting: I64  # (1,)
    random: I64  # (1,)
    rounds: int
    flag: I64  # (1,)


eject = CORE.kernel("eject", tables=2)
"""`eject(homes, run)`: place the waiting buffers in a limited number of rounds; return PLACED, GIVEN_UP or STOPPED."""
