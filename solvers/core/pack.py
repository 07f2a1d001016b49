"""The tables of the kernel that packs one pool in a given order; see pack.hpp."""

from __future__ import annotations

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import CORE, Rows


class PackRules(NamedTuple):
    """The rules of one pool for `n` buffers, with all lengths and offsets in units.

    A body is a rigid group or a single buffer. Its offset is that of its first buffer: `lowest` plus a multiple of
    `step`, at most `highest`. No buffer may end above `capacity`. A buffer at offset o with a page must satisfy (o +
    page_shift) % page + size <= page; page 0 means no page. A bank begins at each offset o with (o + bank_shift) % bank
    == 0; bank 0 means no banks. Between the two buffers of a pair, `clearance` units stay free, and a border of the
    grid lies between them, counted from bank_shift; grid 1 has no effect. `width` is the number of live sets in a
    block. A flat pack stores each buffer in every block that it overlaps, instead of in a tree.
    """

    distance: I64  # (n,): units from the body's offset to the buffer
    size: I64  # (n,)
    first: I64  # (n + 1,): the lifetimes of each buffer, in live sets
    start: I64
    end: I64
    lowest: I64  # (n,)
    highest: I64  # (n,)
    step: I64  # (n,)
    page: I64  # (n,)
    page_shift: I64  # (n,)
    pair_first: I64  # (n + 1,): the pair rules of each buffer, symmetric
    pair: I64
    clearance: I64
    grid: I64
    share_first: I64  # (n + 1,): the buffers that may share a buffer's offset, symmetric
    share: I64
    border_first: I64  # (n + 1,): units that must stay free at a bank's start, for other buffers of the body
    border: I64
    reserved: Rows  # (r, 2): disjoint ascending address ranges
    barred_first: I64  # (n + 1,): disjoint ascending ranges of forbidden offsets
    barred: Rows
    capacity: int
    bank: int
    bank_shift: int
    width: int
    is_flat: bool


class PackOrder(NamedTuple):
    """The `k` buffers to place, one body after another, and their offsets, which the kernel fills in."""

    order: I64  # (k,): buffers
    body_first: I64  # (bodies + 1,): the first entry of each body in `order`
    best_fit: bool
    flag: I64  # (1,)
    offsets: I64  # (k,), ABSENT: not placed


pack = CORE.kernel("pack", tables=2)
"""`pack(rules, wanted)`: place the buffers in the given order and fill in their offsets. Raises MemoryError.

A buffer without a free offset gets ABSENT. First fit chooses the lowest free offset. Best fit chooses the lowest
shared offset, or else the tightest gap: the offset from which the body could be moved up least. Once flag[0] is not
0, all remaining buffers get ABSENT. Sums cannot overflow int64, whatever the sizes.
"""
