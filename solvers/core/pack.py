"""The tables of the kernel that packs one pool in a given order; see pack.hpp."""

from __future__ import annotations

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import CORE, Rows


class PackRules(NamedTuple):
    """The rules of one pool and of `n` buffers; all lengths and offsets in units.

    A body, which is a rigid group or a single buffer, may have the offset `lowest` of its first buffer and every `step`
    above it up to `highest`, if none of its buffers ends above `capacity`, and each buffer at offset o has page 0 or (o
    + page_shift) % page + size <= page. A bank begins at each offset o with (o + bank_shift) % bank == 0; bank 0 means
    no banks. The two buffers of a pair keep `clearance` free between them, and a border of the grid, whose borders are
    like those of banks; grid 1 requires none. `width` is the number of live sets in a block; a flat pack files a buffer
    in every block that it meets, without a tree.
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
    share_first: I64  # (n + 1,): buffers that may share its offset, symmetric
    share: I64
    border_first: I64  # (n + 1,): units of a bank that must stay free at its start, for others of its body
    border: I64
    reserved: Rows  # (r, 2): disjoint ascending address ranges
    barred_first: I64  # (n + 1,): disjoint ascending ranges without its offset
    barred: Rows
    capacity: int
    bank: int
    bank_shift: int
    width: int
    is_flat: bool


class PackOrder(NamedTuple):
    """The `k` buffers to place, body after body, and their offsets."""

    order: I64  # (k,): buffers
    body_first: I64  # (bodies + 1,): the first entry of each body in `order`
    best_fit: bool
    flag: I64  # (1,)
    offsets: I64  # (k,), ABSENT: not placed


pack = CORE.kernel("pack", tables=2)
"""`pack(rules, wanted)`: place each buffer of an order, and fill in its offset, ABSENT if none is free. Raises
MemoryError.

First fit takes the lowest free offset. Best fit takes the lowest shared offset, or else the one from which the body
could be moved up least. Once flag[0] is not 0, the remaining buffers get ABSENT. No sum exceeds 2^63 - 1, whatever the
sizes.
"""
