"""The tables of the lemma search: the question, the state, the lemmas, one run; see lemmas.hpp.

A state says of n buffers in p pools where each may still lie: the entry of buffer i and pool q, number i * p + q, is
the least offset that it may have there, FAR where it may not be there, and GONE once it lies somewhere. It claims that
what is left cannot be placed so. A lemma is such a claim that is proved, for some of the buffers; a state that requires
no less of these cannot be completed either.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.library import CORE
from memplan.solvers.core.tables import F64, Flags, Rows

FAR = 2**62
GONE = -1


class LemmaProblem(NamedTuple):
    """The buffers, none of them pinned, all lengths in units: n buffers, p pools, k sets of buffers that conflict.

    An offset of entry e is residue[e] + j * step[e], outside of its obstacles, and on one page of page[e] (0: no
    pages). `least[e]` is the first of these, FAR where the buffer may not be in the pool. Granule g has a remainder for
    each pool; `fits[g * n * p + e]` says whether all offsets of an entry have it. Blocks of set t and pool q, number
    t * p + q, are disjoint ascending (low, high) rows that no buffer of the set may use.
    """

    pools: int
    size: I64  # (n,)
    step: I64  # (n * p,)
    residue: I64
    least: I64
    page: I64
    page_shift: I64
    obstacle_first: I64  # (n * p + 1,)
    obstacle: Rows
    near_first: I64  # (n + 1,): the buffers that conflict with it
    near: I64
    set_first: I64  # (n + 1,): the sets that it is in
    set_of: I64
    member_first: I64  # (k + 1,)
    member: I64
    block_first: I64  # (k * p + 1,)
    block: Rows
    granule: I64  # (g,): the first is 1
    remainder: I64  # (g * p,)
    fits: Flags  # (g * n * p,)
    group: I64  # (m,): sets of two or more pools, as bits


class LemmaState(NamedTuple):
    """What changes during a run; `need` is the reason of the last failure, GONE for what it does not require."""

    low: I64  # (n * p,)
    only: I64  # (n,): the one pool that a buffer may be in, or -1
    member: I64  # of each set, the highest low first, as far as they were sorted last
    floor: I64  # (k * p,): the least low of what is left of a set in a pool, FAR if nothing is
    ready: I64  # (k * p,): how many have it
    left: I64  # (k * p,): the sum of their sizes
    is_dirty: Flags  # (k,)
    need: I64  # (n * p,)
    changed: I64  # (n * p,): the entries that the last move raised
    stamp: I64  # (k,): the number of the check in which a set was looked at last
    suspect: I64  # (k,): the sets that a check looks at
    log: Rows  # (rows, 2): (entry, low) before a move
    frame: Rows  # (depth, 5 + p)
    kept: Rows  # (depth, n * p): what the branches of a frame so far have required


class LemmaStore(NamedTuple):
    """Lemmas, one after the other: entries first[k]:first[k + 1] with what is required of them, and what refutes them.

    `refs` rows (k, q): for a lemma about where a buffer of entry `branch[k]` lies, (it rests, it is lifted); for one
    about its pools, one for each pool. Each lemma is in one list, of an entry for which it required more than the
    state did when it was looked at last: `head` begins the list of an entry, `next` goes on, and `excess` is how much.
    """

    first: I64  # (l + 1,)
    branch: I64  # (l,): its entry; -1 - buffer for one about pools
    refs: Rows  # (l, max(2, p))
    entry: I64  # (e,)
    value: I64
    excess: I64  # (l,)
    next: I64  # (l,)
    head: I64  # (n * p,)
    counts: I64  # (2,): lemmas; those that are in a list


class LemmaRun(NamedTuple):
    """One run: the end that each pool may have, and how to branch.

    `free[t * m + k]` are the units that set t may use in the pools of group k. `rank` orders buffers. A slim run looks
    for reasons of few buffers, others for those that fail by most.
    """

    capacity: I64  # (p,)
    free: I64  # (k * m,)
    weight: F64  # (k,)
    rank: F64  # (n,)
    lift_weight: float
    is_slim: bool
    node_limit: int
    flag: I64
    offset: I64  # (n * p,): where the buffers lie, if a placement was found
    answer: I64  # (2,)


NODES, ROOT = 0, 1
FOUND, EXHAUSTED, STOPPED, FULL = 1, 0, -1, -2
NOTHING, ALONE = -1, -2
"""References: nothing can lift the buffer; a buffer has no offset left. Those below are live sets, see read_leaf."""


def read_leaf(problem: LemmaProblem, ref: int) -> tuple[int, int, int]:
    """Return the set, the granule and the pools of a reference."""
    rest, group = divmod(-3 - ref, 1 << problem.pools)
    t, g = divmod(rest, len(problem.granule))
    return t, g, group


def _zeros(length: int) -> I64:
    return np.zeros(length, dtype=np.int64)


def new_state(problem: LemmaProblem, depth: int) -> LemmaState:
    """Allocate a state for so many moves one inside the other."""
    n, p, k = len(problem.size), problem.pools, len(problem.member_first) - 1
    longest = int(np.diff(problem.near_first).max(initial=0)) + p + 1
    return LemmaState(
        low=_zeros(n * p),
        only=_zeros(n),
        member=problem.member.copy(),
        floor=_zeros(k * p),
        ready=_zeros(k * p),
        left=_zeros(k * p),
        is_dirty=np.zeros(k, dtype=np.bool_),
        need=_zeros(n * p),
        changed=_zeros(n * p + longest),
        stamp=_zeros(k),
        suspect=_zeros(k),
        log=np.zeros((depth * min(longest, 64) + n * p + longest, 2), dtype=np.int64),
        frame=np.zeros((depth, 5 + p), dtype=np.int64),
        kept=np.zeros((depth, n * p), dtype=np.int64),
    )


def new_store(problem: LemmaProblem, lemmas: int, entries: int) -> LemmaStore:
    """Allocate room for lemmas."""
    return LemmaStore(
        first=_zeros(lemmas + 1),
        branch=_zeros(lemmas),
        refs=np.zeros((lemmas, max(2, problem.pools)), dtype=np.int64),
        entry=_zeros(entries),
        value=_zeros(entries),
        excess=_zeros(lemmas),
        next=_zeros(lemmas),
        head=np.full(len(problem.least), -1, dtype=np.int64),
        counts=_zeros(2),
    )


prove_unfit = CORE.kernel("prove_unfit", tables=4)
"""`prove_unfit(problem, state, store, run)`: search for offsets under the capacities; return the outcome.

FOUND: `run.offset` holds them. EXHAUSTED: there are none, and `answer[ROOT]` refers to why. STOPPED: by the limit or
the flag; the lemmas are kept. FULL: there is too little room.
"""
