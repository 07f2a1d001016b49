"""The tables of ejection: buffers are placed below fixed ends, and most keep their offsets; see ejection.hpp."""

from __future__ import annotations

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import CORE, F64, Flags, Rows

PLACED, GIVEN_UP, STOPPED = 1, 0, -1
"""Outcomes: all placed; some not placed after all rounds; flag[0] was set."""


class Homes(NamedTuple):
    """The input: `n` buffers, `p` pools, `r` reserved ranges; all offsets in units.

    Buffer i may lie in pool q where may_use[q, i] is not 0, at lowest[q, i] + k * alignment[q, i] up to highest[q, i],
    at which it ends inside the pool. Its home is offset home[i] of pool home_pool[i]; ABSENT is none, or none that is
    still legal. One that `is_fixed` may lie at home only. Conflicts are symmetric. `reserved` rows are (pool, low,
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
    """The placement, updated in place, and the queue of buffers without a place.

    `queue` holds the `waiting[0]` buffers that wait; room is for all. `heat` is the weight of each buffer. `random[0]`
    is the state of a random sequence, not 0.
    """

    pool: I64  # (n,)
    offset: I64  # (n,), ABSENT where it has no place
    heat: F64  # (n,)
    queue: I64  # (n,)
    waiting: I64  # (1,)
    random: I64  # (1,)
    rounds: int
    flag: I64  # (1,)


eject = CORE.kernel("eject", tables=2)
"""`eject(homes, run)`: place all waiting buffers in a limited number of rounds; return PLACED, GIVEN_UP or STOPPED."""
