"""The buffers of one pool as the arrays that the exact search reads: sections, neighbours, obstacles, twins."""

from __future__ import annotations

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.kernel import Kernel
from memplan.solvers.kernels.tables import U32, ZERO, Rows, step


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


@Kernel
def lay_out(sections: Sections, facts: SectionFacts) -> int:
    """Fill in the columns of `sections` from `leftmost` on, but for links, obstacles and blocks, which must be there.

    All of them are 0 before, `member_first` included. Returns the number of neighbours in all lists.
    """
    # 1. Where buffers begin and end, and how many are in each section.
    n, k, m = len(sections.size), len(sections.spare), len(sections.start)
    member_first, slot = sections.member_first, ZERO
    for i in range(n):
        sections.leftmost[i], sections.twin[i] = k, -1
    for r in range(m):
        i, low, high = facts.lifetime_buffer[r], sections.start[r], sections.end[r]
        sections.leftmost[i] = min(sections.leftmost[i], low)
        sections.rightmost[i] = max(sections.rightmost[i], high)
        facts.span[i] += high - low
        sections.slot_first[r] = slot
        slot += high - low
        for s in range(low, high):
            member_first[s + 1] += 1
    for s in range(k):
        member_first[s + 1] += member_first[s]
        facts.load[s] = member_first[s]  # where the next member goes

    # 2. The members of each section, in the order of their slots.
    slot = ZERO
    for r in range(m):
        for s in range(sections.start[r], sections.end[r]):
            at = facts.load[s]
            sections.member[at], sections.member_slot[at] = facts.lifetime_buffer[r], slot
            facts.load[s] = at + 1
            slot += 1

    # 3. The load of each section, and what its buffers waste at the most.
    for s in range(k):
        facts.load[s] = 0
        for at in range(member_first[s], member_first[s + 1]):
            i = sections.member[at]
            facts.load[s] += sections.extent[i]
            sections.spare[s] = max(sections.spare[s], sections.extent[i] - sections.size[i])
        for at in range(member_first[s], member_first[s + 1]):
            i = sections.member[at]
            facts.total[i] = max(facts.total[i], facts.load[s])

    # 4. Neighbours, and twins among them.
    count = ZERO
    for i in range(n):
        count = _neighbours(sections, facts, i, count)
        sections.neighbour_first[i + 1] = count
        if facts.finds_twins:
            for at in range(sections.neighbour_first[i], count):
                j = sections.neighbour[at]
                if j < i and _are_equal(sections, i, j):
                    sections.twin[i] = j
    return count


@step
def _neighbours(sections: Sections, facts: SectionFacts, i: int, count: int) -> int:
    """Append the buffers that conflict with a buffer to the list of neighbours, ascending; return its new length."""
    n, start, end = len(sections.size), sections.start, sections.end
    if sections.is_plain:
        for j in range(n):
            if start[j] < end[i] and start[i] < end[j] and j != i:
                sections.neighbour[count] = j
                count += 1
        return count
    for r in range(sections.first[i], sections.first[i + 1]):
        for q in range(len(start)):
            if start[q] < end[r] and start[r] < end[q]:
                facts.seen[facts.lifetime_buffer[q]] = i + 1
    for at in range(sections.link_first[i], sections.link_first[i + 1]):
        facts.seen[sections.link[at]] = i + 1
    for j in range(n):
        if facts.seen[j] == i + 1 and j != i:
            sections.neighbour[count] = j
            count += 1
    return count


@step
def _are_equal(sections: Sections, i: int, j: int) -> bool:
    """Return whether two buffers of one lifetime each are equal in all columns."""
    if sections.size[i] != sections.size[j] or sections.step[i] != sections.step[j]:
        return False
    if sections.residue[i] != sections.residue[j]:
        return False
    is_so: bool = sections.start[i] == sections.start[j] and sections.end[i] == sections.end[j]
    return is_so
