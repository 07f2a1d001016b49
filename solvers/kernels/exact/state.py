"""The state of the exact search: a skyline that moves push up, and that undoing them takes back down.

A move either places a buffer at its lowest offset or decides that nothing of a section starts at its floor. What a move
changes and cannot recompute is written to a log, which undo reads backwards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.exact.sections import Sections
from memplan.solvers.kernels.tables import U32, Flags, Rows, step

FAR = 2**62
"""The lowest offset of a placed buffer; also a capacity that nothing needs."""
NOWHERE = 2**61
"""An offset, larger than any in a plan, of a buffer that has no legal one left."""
LOG_COLUMNS = 4

FRAME_COLUMNS = 13
SECTION, FLOOR, NEXT, END, NEED, LEFT, RIGHT, KEY_A, KEY_B, MOVE, MARK, TOUCHED_LEFT, TOUCHED_RIGHT = range(13)
"""The columns of a frame, which is what a node of the search tree keeps."""


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
    key: Rows  # (k, 2): of the unplaced buffers whose first section it is, see known_failure
    member: U32  # of section s, the unplaced ones are member[sections.member_first[s]:member_end[s]]
    member_end: U32  # (k,)
    member_slot: I64  # the slot of each member, see Sections
    seat: I64  # where the member of a slot stands
    queue: I64  # sections to update
    is_queued: Flags
    logged: I64  # the number of the move for which a section was logged last
    counter: I64  # (6,): unplaced buffers, rows of the log, queued sections, moves, sections that overflow, and
    # the buffers that the last move left no legal offset
    log: Rows  # (rows, 4): (buffer, low) or (~section, floor, ready, slack) before a move
    frame: Rows  # (depth, 13), see the search
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
            counter=np.zeros(6, dtype=np.int64),
            log=np.empty((scale * 64 * (n + k), LOG_COLUMNS), dtype=np.int64),
            frame=np.empty((scale * 4 * n + 1, FRAME_COLUMNS), dtype=np.int64),
            option=np.empty(scale * 16 * n + 1, dtype=np.int64),
            raised=np.zeros(n, dtype=np.int64),
            change=np.zeros(k + 1, dtype=np.int64),
        )


UNPLACED, LOGGED, QUEUED, MOVES, OVERFULL, LOST = range(6)


@step
def lifted(sections: Sections, buffer: int, at: int) -> int:
    """Return the least offset, not below `at`, that is aligned and clear of the buffer's obstacles."""
    stride = sections.step[buffer]
    if stride > 1:
        at += (sections.residue[buffer] - at) % stride
    for r in range(sections.obstacle_first[buffer], sections.obstacle_first[buffer + 1]):
        if sections.obstacle[r, 0] < at + sections.size[buffer] and at < sections.obstacle[r, 1]:
            at = sections.obstacle[r, 1]
            at += (sections.residue[buffer] - at) % stride
    return at


@step
def enqueue(state: State, section: int) -> None:
    """Queue a section for the update at the end of the move."""
    if not state.is_queued[section]:
        state.is_queued[section] = True
        state.queue[state.counter[QUEUED]] = section
        state.counter[QUEUED] += 1


@step
def log_section(state: State, section: int) -> None:
    """Write down floor, ready and slack of a section, once a move."""
    if state.logged[section] != state.counter[MOVES]:
        state.logged[section] = state.counter[MOVES]
        row = state.counter[LOGGED]
        state.log[row, 0] = ~section
        state.log[row, 1] = state.floor[section]
        state.log[row, 2] = state.ready[section]
        state.log[row, 3] = state.slack[section]
        state.counter[LOGGED] = row + 1


@step
def rekey(sections: Sections, state: State, buffer: int, times: int, change: int) -> None:
    """Add times * code + change * another code to both keys of a buffer's first section."""
    s = sections.leftmost[buffer]
    state.key[s, 0] += times * sections.code[buffer, 0] + change * sections.code[buffer, 1]
    state.key[s, 1] += times * sections.code[buffer, 2] + change * sections.code[buffer, 3]
