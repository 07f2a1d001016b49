"""The tables of the kernels that improve plans of several memories window by window (few buffers at a time).

See windows.hpp.
"""

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import CORE, Rows


class Spaces(NamedTuple):
    """The `n` buffers and `p` memories of an instance, with all lengths and offsets in units.

    Buffer `i` may be in memory `q` if homes[q, i] is not 0. It costs price[q, i] steps there, and its offset is
    lowest[q, i] plus a multiple of alignment[q, i], at most highest[q, i]. Buffers with equal `together` must be in the
    same memory. Buffers with equal `lead` keep the differences of their `distance`. If capacity[q] is ABSENT, memory
    `q` fits all buffers, so no offsets are searched there.
    """

    size: I64  # (n,): size of each buffer, in units
    homes: Rows  # (p, n): not 0 if the buffer may be in the memory
    alignment: Rows
    lowest: Rows
    highest: Rows
    page: Rows  # length of the pages of which the buffer must be inside one, or 0
    page_shift: Rows  # what is added to an offset before it is divided into pages
    price: Rows
    lifetime_buffer: I64  # (m,): number of the buffer of each lifetime
    start: I64
    end: I64
    # (n + 1,): start of each buffer's conflicts (symmetric) in `conflict`, then the end of the last
    conflict_first: I64
    conflict: I64
    share_first: I64  # the same for the buffers that may have one offset while both are alive
    share: I64
    bank_first: I64  # the same for the buffers that must not touch a common bank
    bank_with: I64
    bank_price: I64  # the cost of each such pair, in steps, in plans that are not of this search; 0 if none may have it
    together: I64  # (n,): for each buffer, the first buffer of the group that must be in one memory
    lead: I64
    distance: I64
    capacity: I64  # (p,): capacity of each memory in units, or ABSENT if the memory fits all buffers
    bank: I64  # (p,): length of the banks of each memory, or 0
    bank_shift: I64
    reserved_first: I64  # (p + 1,): start of each memory's ranges in `reserved`, then the end of the last
    reserved: Rows


class WindowSearch(NamedTuple):
    """The task of improving a plan with limited work; a buffer in memory ABSENT is not placed yet.

    goal[i] is the cost of buffer `i` in the cheapest choice of memories that ignores offsets. If that choice must be
    packed first, `home` has its memory for each buffer, or else it is empty. The kernel updates `pool`, `offset` and
    the random state, and fills `answer`: (1 if all buffers are placed, work done).
    """

    goal: I64  # (n,): cost of each buffer in the cheapest choice of memories that ignores offsets
    home: I64  # (n,): memory of each buffer in the cheapest choice that ignores offsets, or an empty array
    pool: I64
    offset: I64
    work: int
    held: I64  # (n,): not 0 for the buffers that keep their places, or an empty array
    random: I64  # (1,): state of the random generator, which must not be 0
    flag: I64  # (1,): flag that stops the search once it is not 0
    answer: I64  # (2,): 1 if all buffers are placed, else 0; work done


class StackCuts(NamedTuple):
    """The task of finding sets of buffers that, stacked in any order in memory q, end above end[q].

    The memory of each buffer is given. The kernel fills the fields from `cut_pool` on. Set g consists of the buffers
    buffer[first[g]:first[g + 1]] in memory cut_pool[g], and `need` has their least end. `answer` receives the number of
    sets. Sets that exceed the space of the arrays are omitted.
    """

    pool: I64  # (n,): number of the memory that each buffer is in
    end: I64  # (p,): for each memory, the end that the sets must exceed
    cut_pool: I64  # (g,): number of the memory of each set found
    need: I64
    first: I64  # (g + 1,): start of each set's members in `buffer`, then the end of the last
    buffer: I64
    answer: I64  # (1,): number of sets found


search_windows = CORE.kernel("search_windows", tables=2)
"""`search_windows(spaces, task)`: improve the task's plan in place. Raises MemoryError."""
refute_stacks = CORE.kernel("refute_stacks", tables=2)
"""`refute_stacks(spaces, task)`: fill `task` with sets of buffers that do not fit. Raises MemoryError."""
