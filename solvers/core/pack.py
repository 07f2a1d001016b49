"""The tables for packing one pool in a given order; see pack.hpp."""

from __future__ import annotations

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import CORE, Rows


class PackRules(NamedTuple):
    """The rules of one pool and of `n` buffers; all lengths and offsets in units.

    A body may lie where `lowest` and every `step` above it up to `highest` of its first buffer says, if none of its
    buffers ends above `capacity` and each of them, at offset o, has page 0 or (o + page_shift) % page + size <= page. A
    bank begins at each offset o with (o + bank_shift) % bank == 0; bank 0 says that there are none. Buffers that a row
    of pairs names keep so much clearance, with a border of its grid between them, which begins as banks do; grid 1
    requires none. `width` is the number of live sets in a block; a flat pack files an item in each block and has no
    tree.
    """

    distance: I64  # (n,): the bytes from its body's offset up to the buffer
    size: I64  # (n,)
    first: I64  # (n + 1,): the lifetimes of each buffer, in live sets
    start: I64
    end: I64
    lowest: I64  # (n,)
    highest: I64  # (n,)
    step: I64  # (n,)
    page: I64  # (n,)
    page_shift: I64  # (n,)
    pair_first: I64  # (n + 1,): the rules of pairs that name it, symmetric
    pair: I64
    clearance: I64
    grid: I64
    share_first: I64  # (n + 1,): the buffers that it may share an offset with, symmetric
    share: I64
    border_first: I64  # (n + 1,): bytes of a bank that must be left where it begins, because of others of its body
    border: I64
    reserved: Rows  # (r, 2): disjoint ascending address ranges
    barred_first: I64  # (n + 1,): disjoint ascending ranges that its offset is not in
    barred: Rows
    capacity: int
    bank: int
    bank_shift: int
    width: int
    is_flat: bool


class PackOrder(NamedTuple):
    """The `k` buffers to place, body by body, and their offsets."""

    order: I64  # (k,): buffers
    body_first: I64  # (bodies + 1,): where each body begins in it
    best_fit: bool
    flag: I64  # (1,)
    offsets: I64  # (k,), ABSENT


pack = CORE.kernel("pack", tables=2)
"""`pack(rules, wanted)`: place the buffers of an order, each once. Raises MemoryError.

Each gets an offset, ABSENT where none is free. First fit takes the lowest free offset; best fit the lowest shared one,
or else the offset from which the body could be moved up least. Once flag[0] is not 0, the rest is ABSENT. No sum passes
2^63 - 1, whatever the sizes.
"""
