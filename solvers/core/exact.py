"""The tables of the exact search: an instance with one pool, and the turns (steps of bounded work) of each thread.

See instance.hpp, search.hpp and exact.cpp.
"""

from enum import IntFlag
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import CORE, Rows

ALONE_NODES = 10_000
"""The nodes of the first thread before others start: run times are heavy-tailed, so another seed may be faster."""
NONE = 2**63 - 1
"""The limit of a buffer that has no limit."""


class OnePool(NamedTuple):
    """The `n` buffers of a pool, with all lengths and offsets in units.

    An offset o of buffer i satisfies o % step[i] == residue[i] and o >= lowest[i]; the buffer ends at or below
    limit[i]. If page[i] is not 0, (o + page_shift[i]) % page[i] + size[i] <= page[i]. The buffer is `distance` units
    above `lead`, the lowest buffer of its rigid group. Conflicting buffers keep `clearance` units between them.
    """

    n: int
    unit: int
    capacity: int
    n_sets: int  # number of live sets of the pool
    is_plain: bool  # True if each buffer has one lifetime and the only rules are capacity and alignment
    has_joins: bool
    source: I64  # (n,): row of each buffer in the problem
    size: I64
    step: I64
    residue: I64
    lowest: I64
    limit: I64  # (n,): largest end of each buffer, or NONE for no limit
    page: I64
    page_shift: I64
    pin: I64  # (n,): pinned offset of each buffer, or ABSENT if the buffer is not pinned
    lead: I64
    distance: I64
    first: I64  # (n + 1,): start of each buffer's lifetimes, counted in live sets, then the end of the last
    start: I64
    end: I64
    time: I64  # (n_sets,): a time at which each live set is alive
    # (n + 1,): start of each buffer's conflicts (ascending, symmetric) in `pair`, then the end of the last
    pair_first: I64
    pair: I64
    clearance: I64  # units to keep free between the buffers of each entry of `pair`, or an empty array
    reserved: Rows  # (r, 2): low and high end of each reserved range; the ranges are disjoint and ascending
    barred_first: I64  # (n + 1,): start of each buffer's forbidden offset ranges in `barred`, then the end of the last
    barred: Rows


class Inference(IntFlag):
    """The inferences of the exact search, each of which can be left out without making an answer wrong.

    NOGOODS: failures of components are stored and looked up. BACKJUMPS: a failure steps back over moves that did not
    touch its component. FAILURE_WEIGHTS: sections that overflow are branched on first. STACKS_WITH_GAPS: the gaps of
    alignments in a section count. TWINS: of equal buffers, the first is placed first. LEVEL_ENDS: buffers that end
    level with their neighbours come first. GUIDES: runs above the bound follow the last placement. DIVES: short runs at
    the bound with fresh weights. DUMMIES: the slack is filled by guessed buffers. CORES: few buffers prove the bound.
    EJECTIONS: placements with mixed alignments are repaired.
    """

    NOGOODS = 1
    BACKJUMPS = 2
    FAILURE_WEIGHTS = 4
    STACKS_WITH_GAPS = 8
    TWINS = 16
    LEVEL_ENDS = 32
    GUIDES = 64
    DIVES = 128
    DUMMIES = 256
    CORES = 512
    EJECTIONS = 1024


used_inferences = ~Inference(0)
"""The inferences of searches that are opened from now on; experiments set fewer."""


class Opening(NamedTuple):
    """The input that opens a thread's search: address of the shared state, seed, is the first thread, inferences."""

    parts: int
    seed: int
    is_first: bool
    inferences: int


class Turn(NamedTuple):
    """A turn of a search thread: a step of bounded work, whose results the kernel writes into these fields.

    The turn ends once the search has `end` nodes in all, at the first restart after `pause` more nodes, or when there
    is a result to share. The other threads have excluded all peaks below `bound`. If `has_plan`, `offset` is a plan of
    another thread; the kernel overwrites it with any plan that this thread finds.
    """

    end: int
    pause: int
    bound: int
    is_proving: bool
    has_plan: bool
    offset: I64  # (n,): offset of each buffer in the plan
    answer: I64  # (4,): results, at the positions NODES, BOUND, PEAK and IS_PROVING
    flag: I64  # (1,): flag that stops the search once it is not 0


NODES, BOUND, PEAK, IS_PROVING = range(4)
"""The answer's entries: nodes, least peak not excluded, peak of `offset` (or ABSENT), 1 if only proofs are left."""
SPENT, PAUSED, BETTER, RAISED, PROVED, INFEASIBLE, WAITS, FAILED = range(8)
"""The outcomes of a turn: nodes spent or flag set; pause; better plan; higher bound; no component left above the
bound; infeasible; waiting for another thread; out of memory.
"""


_FIRST_SEED = -2653508690321835842
"""The seed of the first thread for search seed 0; a constant, because computing it would import `numpy.random`."""


@lru_cache(maxsize=16)
def seed_of(seed: int, number: int) -> int:
    """Return the random seed of search thread `number` in a search with the given seed."""
    if seed == number == 0:
        return _FIRST_SEED
    return int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64).view(np.int64)[0])


open_parts = CORE.kernel("open_parts", tables=1)
"""`open_parts(instance)`: return the address of the threads' shared state, which reads the arrays until closed."""
open_search = CORE.kernel("open_search", tables=1)
"""`open_search(opening)`: return the address of the search of a new thread."""
take_turn = CORE.kernel("take_turn", tables=2)
"""`take_turn(search, turn)`: search for one turn, and return its outcome. Raises MemoryError."""
close_parts = CORE.kernel("close_parts", tables=1)
"""`close_parts(parts)`: free the shared state, after all its searches are closed."""
close_search = CORE.kernel("close_search", tables=1)
"""`close_search(search)`: free a thread's search."""
