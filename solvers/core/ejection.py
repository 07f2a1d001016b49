"""The tables of the ejection kernel, which repairs a placement below fixed ends; see ejection.hpp."""

from __future__ import annotations

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import CORE, F64, Flags, Rows

PLACED, GIVEN_UP, STOPPED = 1, 0, -1
"""The kernel's outcomes: all buffers placed; some buffers not placed; flag[0] was set."""


class Homes(NamedTuple):
    """The input of the ejection kernel: `n` buffers, `p` pools and `r` reserved ranges, with all offsets in units.

    Buffer i may be in pool q if may_use[q, i] is not 0, at offsets lowest[q, i] + k * alignment[q, i] up to
    highest[q, i], with which it still ends inside the pool. Its home is offset home[i] in pool home_pool[i], or ABSENT
    without a legal home. If is_fixed[i] is set, only the home is legal. The conflict lists are symmetric. The rows of
    `reserved` are (pool, low, high).
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
    """The placement, which the kernel updates in place, and the queue of unplaced buffers.

    The first `waiting[0]` entries of `queue` are unplaced; it has space for all buffers. `heat[i]` is the weight of
    buffer i: a placement ejects light buffers first. `random[0]` is the random state and must not be 0.
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
"""`eject(homes, run)`: place the queued buffers within `rounds` rounds; return PLACED, GIVEN_UP or STOPPED."""
