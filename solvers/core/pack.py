"""The tables of the kernels that pack one pool in a given order; see pack.hpp and sweep.hpp."""

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import CORE, Rows


class PackRules(NamedTuple):
    """The rules of one pool for `n` buffers, with all lengths and offsets in units.

    A body is a rigid group or a single buffer. Its offset is that of its first buffer: `lowest` plus a multiple of
    `step`, at most `highest`. No buffer may end above `capacity`.

    If `page` is not 0, a buffer at offset o must satisfy (o + page_shift) % page + size <= page. If `bank` is not 0, a
    bank begins at each offset o with (o + bank_shift) % bank == 0. Between the two buffers of a pair, `clearance` units
    stay free. If the pair's `grid` is not 1, one border of this grid, counted from bank_shift, also lies between them.

    `width` is the number of live sets in a block. A flat pack stores each buffer in every block that it overlaps,
    instead of in a tree.
    """

    distance: I64  # (n,): units from the offset of the buffer's body to the buffer
    size: I64  # (n,): size of each buffer, in units
    first: I64  # (n + 1,): start of each buffer's lifetimes, counted in live sets, then the end of the last
    start: I64
    end: I64
    lowest: I64  # (n,): lowest offset of each buffer's body
    highest: I64  # (n,): highest offset of each buffer's body
    step: I64  # (n,): step between legal offsets of each buffer's body
    page: I64  # (n,): page size of each buffer, or 0 for no page
    page_shift: I64  # (n,): units added to each buffer's offset to find its position in a page
    pair_first: I64  # (n + 1,): start of each buffer's pair rules (symmetric) in `pair`, then the end of the last
    pair: I64
    clearance: I64
    grid: I64
    share_first: I64  # (n + 1,): start of each buffer's sharing partners in `share`, then the end of the last
    share: I64
    # (n + 1,): start of each buffer's entries in `border`, the units of its bank that must remain above its start
    border_first: I64
    border: I64
    reserved: Rows  # (r, 2): low and high end of each reserved range; the ranges are disjoint and ascending
    barred_first: I64  # (n + 1,): start of each buffer's forbidden offset ranges in `barred`, then the end of the last
    barred: Rows
    capacity: int
    bank: int
    bank_shift: int
    width: int
    is_flat: bool


class PackOrder(NamedTuple):
    """The `k` buffers to place, one body after another, and the array in which the kernel stores their offsets."""

    order: I64  # (k,): numbers of the buffers, in the order of placing
    body_first: I64  # (bodies + 1,): start of each body in `order`, then the end of the last
    best_fit: bool
    flag: I64  # (1,): flag that stops the kernel once it is not 0
    offsets: I64  # (k,): offset found for each buffer, or ABSENT if the buffer is not placed


pack = CORE.kernel("pack", tables=2)
"""`pack(rules, wanted)`: place the buffers in the given order and fill in their offsets. Raises MemoryError.

A buffer without a free offset gets ABSENT. First fit chooses the lowest free offset. Best fit chooses the lowest
shared offset, or else the tightest gap: the offset from which the body could be moved up least. Once flag[0] is not
0, all remaining buffers get ABSENT. Sums cannot overflow int64, whatever the sizes.
"""


class SweepTask(NamedTuple):
    """The `k` buffers to place in a pool without rules except reserved ranges, capacity and alignments, by start.

    Each buffer has one lifetime, from `start` to `end` in live sets. The kernel fills `offsets`.
    """

    order: I64  # (k,): numbers of the buffers, in the order of their starts
    size: I64  # (n,): size of each buffer, in units
    start: I64
    end: I64
    step: I64  # (n,): the offset of each buffer is a multiple of it
    reserved: Rows  # (r, 2): low and high end of each reserved range; the ranges are disjoint and ascending
    capacity: int
    n_live_sets: int
    offsets: I64  # (k,): offset found for each buffer, or ABSENT if the buffer is not placed


sweep = CORE.kernel("sweep", tables=1)
"""`sweep(task)`: place each buffer in a gap of about its size among those alive at its start. Raises MemoryError."""
