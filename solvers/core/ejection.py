"""The tables of the ejection kernel, which repairs a placement below fixed ends; see ejection.hpp."""

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import CORE, F64, Flags, Rows

PLACED, GIVEN_UP, STOPPED = 1, 0, -1
"""The kernel's outcomes: all buffers placed; some buffers not placed; flag[0] was set."""


class Homes(NamedTuple):
    """The input of the ejection kernel: `n` buffers with their homes (offsets to keep), `p` pools, `r` reserved ranges.

    All offsets are in units. Buffer i may be in pool q if may_use[q, i] is not 0, at the offsets lowest[q, i] + k *
    alignment[q, i] up to highest[q, i]; at each of them it ends inside the pool. Its home is offset home[i] in pool
    home_pool[i]; offset ABSENT means no legal home. If is_fixed[i] is set, the buffer may only be at its home. The
    conflict lists are symmetric. The rows of `reserved` are (pool, low, high).
    """

    size: I64  # (n,): size of each buffer, in units
    may_use: Rows  # (p, n): not 0 if the buffer may be in the pool
    alignment: Rows  # (p, n): alignment of each buffer in each pool, in units
    lowest: Rows  # (p, n): lowest offset of each buffer in each pool
    highest: Rows  # (p, n): highest offset of each buffer in each pool
    home: I64  # (n,): home offset of each buffer, or ABSENT without a legal home
    home_pool: I64  # (n,): home pool of each buffer, or ABSENT without a legal home
    is_fixed: Flags  # (n,): True if only the buffer's home is legal
    near_first: I64  # (n + 1,): start of each buffer's entries in `near`, then the end of the last
    near: I64
    reserved: Rows  # (r, 3): pool, low end and high end of each reserved range


class Ejection(NamedTuple):
    """A placement, which the kernel updates in place, and the queue of unplaced buffers.

    The first waiting[0] entries of `queue` are unplaced; `queue` has space for all buffers. heat[i] is the weight of
    buffer i: to make space, the kernel ejects light buffers first. random[0] is the random state and must not be 0.
    """

    pool: I64  # (n,): current pool of each buffer
    offset: I64  # (n,): current offset of each buffer, or ABSENT if the buffer is not placed
    heat: F64  # (n,): weight of each buffer; light buffers are ejected first
    queue: I64  # (n,): numbers of the unplaced buffers, then unused space
    waiting: I64  # (1,): number of unplaced buffers in `queue`
    random: I64  # (1,): state of the random generator, which must not be 0
    rounds: int
    flag: I64  # (1,): flag that stops the kernel once it is not 0


eject = CORE.kernel("eject", tables=2)
"""`eject(homes, run)`: place the queued buffers within `rounds` rounds; return PLACED, GIVEN_UP or STOPPED."""
