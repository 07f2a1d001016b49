"""The tables of the exact search's problem: sections, neighbours, obstacles, twins; see sections.hpp."""

from __future__ import annotations

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.library import CORE
from memplan.solvers.core.tables import U32, Rows


class Sections(NamedTuple):
    """The arrays that the exact search reads: n free buffers in k sections; all lengths and offsets in units.

    A section is a set of buffers that all conflict: a maximal live set, or a clique of conflicts by name. Pinned
    buffers and reserved ranges are not searched for: they are obstacles.

    Lifetime r of buffer i, for r in first[i]:first[i + 1], spans the sections start[r]:end[r]; all of them lie in
    leftmost[i]:rightmost[i]. All offsets are congruent modulo `granule`, so a buffer takes `extent` from those above it
    though it ends after `size`. `twin[i]` is an earlier buffer that differs from i in nothing, or -1.
    """

    size: I64  # (n,)
    extent: I64  # (n,): size rounded up to the granule
    step: I64  # (n,): offsets are o with o % step == residue
    residue: I64  # (n,)
    first: I64  # (n + 1,)
    start: I64
    end: I64
    leftmost: I64  # (n,)
    rightmost: I64  # (n,)
    neighbour_first: I64  # (n + 1,): the buffers that conflict with it, for whatever reason
    neighbour: U32
    link_first: I64  # (n + 1,): the conflicts by name among them
    link: I64
    obstacle_first: I64  # (n + 1,): disjoint ascending (low, high) rows that a buffer must keep clear of
    obstacle: Rows
    member_first: U32  # (k + 1,)
    member: U32
    member_slot: I64  # the slot of each member: slots count sections of lifetimes, lifetime by lifetime
    slot_first: I64  # the first slot of each lifetime
    block_first: I64  # (k + 1,): disjoint ascending (low, high) rows that no buffer of a section may use
    block: Rows
    spare: I64  # (k,): the most that a buffer's extent exceeds its size
    twin: I64  # (n,)
    code: Rows  # (n, 4): random numbers, see the kernel's nogood keys
    granule: int
    is_plain: bool  # whether every buffer has one lifetime and no conflict by name


class SectionFacts(NamedTuple):
    """The rest of what sections are made of, and what is found about their buffers on the way; all 0 but the first."""

    lifetime_buffer: I64  # (m,): the buffer of each lifetime, ascending
    span: I64  # (n,): the sections of its lifetimes
    total: I64  # (n,): the largest load of a section that it is in
    load: I64  # (k,): the sum of the extents in each section
    seen: I64  # (n,): scratch
    finds_twins: bool  # whether buffers that are equal in the columns of sections are twins


lay_out = CORE.kernel("lay_out", tables=2)
"""`lay_out(sections, facts)`: fill in the columns of `sections` from `leftmost` on, but links, obstacles and blocks,
which must be there.

All of them are 0 before, `member_first` included. Returns the number of neighbours in all lists.
"""
