"""The tables of the exact search for a placement under one capacity; see exact.hpp."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.library import CORE
from memplan.solvers.core.sections import Sections
from memplan.solvers.core.tables import F64, U32, Flags, Rows

NOWHERE = 2**61
"""An offset, larger than any in a plan, of a buffer that has no legal one left."""
_LOG_COLUMNS, _FRAME_COLUMNS, _NOGOOD_COLUMNS = 4, 13, 4

FOUND, EXHAUSTED, STOPPED, FULL = 1, 0, -1, -2
NODES, LEAST = 0, 1
"""The columns of an answer."""


class State(NamedTuple):
    """The state of a search: n buffers, k sections.

    `low[i]` is the least offset that the unplaced buffer i may still have, FAR for a placed one. Of the unplaced
    buffers of section s, `floor[s]` is the least low, `ready[s]` counts those whose low that is, `left[s]` is the sum
    of the extents, and `slack[s]` is what the section can waste under the capacity. `crossing[s]` counts the unplaced
    buffers, and pairs of them that conflict by name, on both sides of the border between s - 1 and s.
    """

    low: I64
    floor: I64
    ready: I64
    left: I64
    slack: I64
    crossing: I64
    key: Rows  # (k, 2): of the unplaced buffers whose first section it is
    member: U32  # of section s, the unplaced ones are member[sections.member_first[s]:member_end[s]]
    member_end: U32  # (k,)
    member_slot: I64  # the slot of each member, see Sections
    seat: I64  # where the member of a slot stands
    queue: I64  # sections to update
    is_queued: Flags
    logged: I64  # the number of the move for which a section was logged last
    unplaced: I64  # (1,): the buffers that were not placed when the last run ended
    log: Rows  # (rows, 4): (buffer, low) or (~section, floor, ready, slack) before a move
    frame: Rows  # (depth, 13)
    option: I64  # the options of all frames, one after the other
    raised: I64  # (n,): scratch
    change: I64  # (k + 1,): scratch, 0 between moves: of how many buffers are ready, from one section to the next

    @classmethod
    def for_sections(cls, sections: Sections, scale: int = 1) -> State:
        """Allocate a state, for `scale` times the usual depth and number of changes."""
        n, k = len(sections.size), len(sections.spare)
        per_section = [np.zeros(k, dtype=np.int64) for _ in range(6)]
        floor, ready, left, slack, queue, logged = per_section
        seat = np.empty(len(sections.member_slot), dtype=np.int64)
        seat[sections.member_slot] = np.arange(len(seat))
        return cls(
            low=np.zeros(n, dtype=np.int64),
            floor=floor,
            ready=ready,
            left=left,
            slack=slack,
            crossing=np.zeros(k + 1, dtype=np.int64),
            key=np.zeros((k, 2), dtype=np.int64),
            member=sections.member.copy(),
            member_end=sections.member_first[1:].copy(),
            member_slot=sections.member_slot.copy(),
            seat=seat,
            queue=queue,
            is_queued=np.zeros(k, dtype=np.bool_),
            logged=logged,
            unplaced=np.zeros(1, dtype=np.int64),
            log=np.empty((scale * 64 * (n + k), _LOG_COLUMNS), dtype=np.int64),
            frame=np.empty((scale * 4 * n + 1, _FRAME_COLUMNS), dtype=np.int64),
            option=np.empty(scale * 16 * n + 1, dtype=np.int64),
            raised=np.zeros(n, dtype=np.int64),
            change=np.zeros(k + 1, dtype=np.int64),
        )


class ExactRun(NamedTuple):
    """The question of one run of the search, and its answer.

    Is there a placement whose largest end is at most `capacity`? `rank` orders the buffers of a branch, but those come
    first that start there in `guide`, the offsets of an assignment (-1: none). `weight` counts the failures of each
    section and is kept by the caller, as is `nogoods` (2^b rows, or none: then it is unused). `skip_weight` is what the
    branch "nothing starts here" weighs against one buffer. `from_right` says which of equal sections comes first: time
    has no direction, and a search that is long one way may be short the other way. `is_thorough` tries
    that branch where a section has no slack, too, only to learn a larger need. The run ends when flag[0] is set, or
    after `node_limit` nodes.
    """

    nogoods: Rows
    rank: I64  # (n,)
    guide: I64  # (n,)
    weight: F64  # (k,)
    capacity: int
    skip_weight: float
    from_right: bool
    node_limit: int
    is_thorough: bool
    flag: I64  # (1,)
    offset: I64  # (n,): where the buffers lie, if a placement was found
    answer: I64  # (2,): nodes; need, if there is no placement: nor is there one under any capacity below it


search = CORE.kernel("search", tables=3)
"""`search(sections, state, run)`: look for offsets whose largest end is at most a capacity; return the outcome.

FOUND: `run.offset` holds them. EXHAUSTED: there are none. STOPPED: by the limit or the flag. FULL: `state` has too
little room.
"""


def no_nogoods() -> Rows:
    """Return a table in which no failure is kept."""
    return np.zeros((0, _NOGOOD_COLUMNS), dtype=np.int64)


def enlarged(nogoods: Rows, rows: int) -> Rows:
    """Return a table of 2^b rows, more than there are, with all that is known."""
    larger, known = np.zeros((rows, _NOGOOD_COLUMNS), dtype=np.int64), nogoods[nogoods[:, 2] > 0]
    larger[(known[:, 0] ^ (known[:, 0] >> 32)) & (rows - 1)] = known
    return larger
