"""The tables of the exact search: a one-pool instance, and the turns of each search thread.

See instance.hpp, search.hpp and exact.cpp.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import CORE, Rows

ALONE_NODES = 10_000
"""The nodes after which more threads join: run times are heavy-tailed, so another seed rarely needs as long."""
NONE = 2**63 - 1
"""The limit of an unlimited buffer."""


class OnePool(NamedTuple):
    """The `n` buffers of one pool; all lengths and offsets in units.

    Offsets o of buffer i have o % step[i] == residue[i], are at least lowest[i], and end at limit[i] or below. Where
    page[i] is not 0, (o + page_shift[i]) % page[i] + size[i] <= page[i]. It lies `distance` above the lowest buffer of
    its rigid group, `lead`, which may be itself. Those of `pair` keep so much clearance, where there is any.
    """

    n: int
    unit: int
    capacity: int
    n_sets: int  # live sets
    is_plain: bool  # one lifetime each, and no rule but capacity and alignment
    has_joins: bool
    source: I64  # (n,)
    size: I64
    step: I64
    residue: I64
    lowest: I64
    limit: I64  # NONE: none
    page: I64
    page_shift: I64
    pin: I64  # ABSENT: none
    lead: I64
    distance: I64
    first: I64  # (n + 1,): lifetimes, in live sets
    start: I64
    end: I64
    time: I64  # (n_sets,): a time in each
    pair_first: I64  # (n + 1,): conflicts by name, symmetric, ascending
    pair: I64
    clearance: I64  # one for each of `pair`, or none
    reserved: Rows  # (r, 2): disjoint ascending ranges
    barred_first: I64  # (n + 1,): disjoint ascending ranges that its offset is not in
    barred: Rows


class Opening(NamedTuple):
    """The initial parts and seed of a search thread; one of several threads is the first."""

    parts: int
    seed: int
    is_first: bool


class Turn(NamedTuple):
    """A turn of a search, and its results.

    It ends with `end` nodes of the search in all, after `pause` nodes more between two runs, and where there is
    something to pass on. Others have ruled out all peaks below `bound`; where `has_plan`, `offset` is a plan of theirs.
    Afterwards it is the search's own, where it has one.
    """

    end: int
    pause: int
    bound: int
    is_proving: bool
    has_plan: bool
    offset: I64  # (n,)
    answer: I64  # (4,): see below
    flag: I64  # (1,)


NODES, BOUND, PEAK, IS_PROVING = range(4)
"""The columns of an answer: nodes, least peak not ruled out, peak of `offset` or ABSENT, and if only proofs are left.
"""
SPENT, PAUSED, BETTER, RAISED, PROVED, INFEASIBLE, WAITS, FAILED = range(8)
"""The outcomes of a turn: nodes spent or flag set; a pause; a better plan; a higher bound; no component above the
bound; infeasible; waiting for another thread; out of memory.
"""


_FIRST_SEED = -2653508690321835842
"""The seed of the first thread for seed 0, a constant, since computing it would import `numpy.random`."""


@lru_cache(maxsize=16)
def seed_of(seed: int, number: int) -> int:
    """Return the seed of a search thread."""
    if seed == number == 0:
        return _FIRST_SEED
    return int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64).view(np.int64)[0])


open_parts = CORE.kernel("open_parts", tables=1)
"""`open_parts(instance)`: return the address of the shared state, which uses the instance's arrays until it is closed.
"""
open_search = CORE.kernel("open_search", tables=1)
"""`open_search(opening)`: return the address of a thread's search."""
take_turn = CORE.kernel("take_turn", tables=2)
"""`take_turn(search, turn)`: search, and return why the turn ended. Raises MemoryError."""
close_parts = CORE.kernel("close_parts", tables=1)
"""`close_parts(parts)`: free the shared state, after all its searches."""
close_search = CORE.kernel("close_search", tables=1)
"""`close_search(search)`: free a search."""
