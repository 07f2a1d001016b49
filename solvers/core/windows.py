"""The tables of the kernels that search plans of several memories, window by window; see windows.hpp."""

from __future__ import annotations

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import CORE, Rows


class Spaces(NamedTuple):
    """The `n` buffers and `p` memories of an instance; all lengths and offsets in its units.

    Buffer `i` may be in memory `q` if homes[q, i] is not 0, at lowest[q, i] and every alignment[q, i] above it up to
    highest[q, i], and costs price[q, i] steps there. Buffers with equal `together` must be in one memory, those with
    equal `lead` at their `distance` from each other. If capacity[q] is ABSENT, memory `q` has room for all buffers, and
    no offset is searched there.
    """

    size: I64  # (n,)
    homes: Rows  # (p, n)
    alignment: Rows
    lowest: Rows
    highest: Rows
    price: Rows
    lifetime_buffer: I64  # (m,)
    start: I64
    end: I64
    conflict_first: I64  # (n + 1,): conflicts by name, symmetric
    conflict: I64
    together: I64  # (n,): the first of its group
    lead: I64
    distance: I64
    capacity: I64  # (p,)
    reserved_first: I64  # (p + 1,): disjoint ascending ranges of each memory
    reserved: Rows


class WindowSearch(NamedTuple):
    """The task: a plan to be improved with limited work; buffers in memory ABSENT have no place yet.

    goal[i] is the cost of buffer `i` in the cheapest choice that ignores offsets; `home` has the memories of that
    choice, if it is to be packed first. The kernel changes `pool`, `offset` and the state of random numbers, and fills
    `answer`: 1 if all buffers have a place, and the work done.
    """

    goal: I64  # (n,)
    home: I64  # (n,) or empty
    pool: I64
    offset: I64
    work: int
    pack_nodes: int  # nodes of exact searches for each buffer where `home` is packed; 0 for a quick packing
    random: I64  # (1,), not 0
    flag: I64  # (1,)
    answer: I64  # (2,)


class StackCuts(NamedTuple):
    """The task: for a choice of memories, find sets of buffers that end above end[q] in memory q in every stack.

    The kernel fills the fields from `cut_pool` on: the memory of each set, the least end of its buffers there, its
    buffers buffer[first[g]:first[g + 1]], and the number of sets. Sets for which the arrays have no space are left out.
    """

    pool: I64  # (n,)
    end: I64  # (p,)
    cut_pool: I64  # (g,)
    need: I64
    first: I64  # (g + 1,)
    buffer: I64
    answer: I64  # (1,)


search_windows = CORE.kernel("search_windows", tables=2)
"""`search_windows(spaces, task)`: improve the plan of the task in place. Raises MemoryError."""
refute_stacks = CORE.kernel("refute_stacks", tables=2)
"""`refute_stacks(spaces, task)`: fill the task with sets of buffers that do not fit. Raises MemoryError."""
