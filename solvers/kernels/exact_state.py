"""The state of the exact search: a skyline that moves push up, and that undoing them takes back down.

A move either places a buffer at its lowest offset or decides that nothing of a section starts at its floor. What a move
changes and cannot recompute is written to a log, which undo reads backwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numba import njit

from planner.table import I64
from solvers.sections import U32, Sections

FAR = 2**62
"""The lowest offset of a placed buffer; also a capacity that nothing needs."""
LOG_COLUMNS = 4
FRAME_COLUMNS = 13

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])


def whole(kernel: _Kernel) -> _Kernel:
    """Compile a kernel with its steps.

    None of them allocates, so none needs to count the references to its arrays (`_nrt`): that takes two thirds of the
    time.
    """
    return cast(_Kernel, njit(cache=True, nogil=True, _nrt=False)(kernel))


def step(kernel: _Kernel) -> _Kernel:
    """Make a function a step, compiled into the kernels that call it."""
    return cast(_Kernel, njit(nogil=True, _nrt=False, inline="always")(kernel))


class State(NamedTuple):
    """Where a search stands: n buffers, k sections.

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
    key: I64  # (k, 2): of the unplaced buffers whose first section it is, see known_failure
    member: U32  # of section s, the unplaced ones are member[sections.member_first[s]:member_end[s]]
    member_end: U32  # (k,)
    member_slot: I64  # the slot of each member, see Sections
    seat: I64  # where the member of a slot stands
    queue: I64  # sections to settle
    is_queued: npt.NDArray[np.bool_]
    logged: I64  # the number of the move for which a section was logged last
    counter: I64  # (4,): unplaced buffers, rows of the log, queued sections, moves
    log: I64  # (rows, 4): (buffer, low) or (~section, floor, ready, slack) before a move
    frame: I64  # (depth, 13), see the search
    option: I64  # the options of all frames, one after the other
    raised: I64  # (n,): scratch

    @classmethod
    def for_sections(cls, sections: Sections, room: int = 1) -> State:
        """Allocate a state, with `room` for that many times the depth and the changes that are usual."""
        n, k = len(sections.size), len(sections.spare)
        per_section = [np.zeros(k, dtype=np.int64) for _ in range(6)]
        floor, ready, left, slack, queue, logged = per_section
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
            seat=np.argsort(sections.member_slot),
            queue=queue,
            is_queued=np.zeros(k, dtype=np.bool_),
            logged=logged,
            counter=np.zeros(4, dtype=np.int64),
            log=np.zeros((room * 64 * (n + k), LOG_COLUMNS), dtype=np.int64),
            frame=np.zeros((room * 4 * n + 1, FRAME_COLUMNS), dtype=np.int64),
            option=np.zeros(room * 16 * n + 1, dtype=np.int64),
            raised=np.zeros(n, dtype=np.int64),
        )


UNPLACED, LOGGED, QUEUED, MOVES = 0, 1, 2, 3


@step
def lifted(sections: Sections, buffer: int, at: int) -> int:
    """Return the least offset, not below `at`, that is aligned and clear of the buffer's obstacles."""
    step = sections.step[buffer]
    if step > 1:
        at += (sections.residue[buffer] - at) % step
    for r in range(sections.obstacle_first[buffer], sections.obstacle_first[buffer + 1]):
        if sections.obstacle[r, 0] < at + sections.size[buffer] and at < sections.obstacle[r, 1]:
            at = sections.obstacle[r, 1]
            at += (sections.residue[buffer] - at) % step
    return at


@step
def start(sections: Sections, state: State) -> None:
    """Go to the state before any move: everything unplaced and as low as can be, all sections queued."""
    state.low[:] = FAR
    state.left[:] = 0
    state.crossing[:] = 0
    state.key[:] = 0
    state.is_queued[:] = False
    state.logged[:] = 0
    state.counter[:] = 0
    for s in range(len(state.left)):
        state.member_end[s] = sections.member_first[s]
    for i in range(len(state.low)):
        unplace(sections, state, i, lifted(sections, i, 0))
    for s in range(len(state.left)):
        if state.left[s] > 0:
            enqueue(state, s)


@step
def enqueue(state: State, section: int) -> None:
    """Have a section settled at the end of the move."""
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


@step
def lift(sections: Sections, state: State, buffer: int, offset: int) -> None:
    """Raise the low of an unplaced buffer; sections whose last ready buffer it was are queued."""
    old = state.low[buffer]
    row = state.counter[LOGGED]
    state.log[row, 0] = buffer
    state.log[row, 1] = old
    state.counter[LOGGED] = row + 1
    state.low[buffer] = offset
    rekey(sections, state, buffer, 0, offset - old)
    for r in range(sections.first[buffer], sections.first[buffer + 1]):
        for s in range(sections.start[r], sections.end[r]):
            if state.floor[s] == old and not state.is_queued[s]:
                log_section(state, s)
                state.ready[s] -= 1
                if state.ready[s] == 0:
                    enqueue(state, s)


@step
def cross(sections: Sections, state: State, buffer: int, change: int) -> None:
    """Count a buffer, and its named conflicts with unplaced ones, in or out at the borders that they cross."""
    left, right = sections.leftmost[buffer], sections.rightmost[buffer]
    for s in range(left + 1, right):
        state.crossing[s] += change
    for x in range(sections.link_first[buffer], sections.link_first[buffer + 1]):
        other = sections.link[x]
        if state.low[other] != FAR:
            for s in range(min(left, sections.leftmost[other]) + 1, max(right, sections.rightmost[other])):
                state.crossing[s] += change


@step
def unplace(sections: Sections, state: State, buffer: int, offset: int) -> None:
    """Take a placed buffer back to its low."""
    cross(sections, state, buffer, 1)
    state.low[buffer] = offset
    rekey(sections, state, buffer, 1, offset)
    for r in range(sections.first[buffer], sections.first[buffer + 1]):
        for s in range(sections.start[r], sections.end[r]):
            state.left[s] += sections.extent[buffer]
            state.member_end[s] += 1
    state.counter[UNPLACED] += 1


@step
def leave(state: State, section: int, slot: int) -> None:
    """Move the member in a slot behind the unplaced ones of its section, the next one to come back."""
    state.member_end[section] -= 1
    here, last = state.seat[slot], state.member_end[section]
    state.member[here], state.member[last] = state.member[last], state.member[here]
    state.member_slot[here], state.member_slot[last] = state.member_slot[last], slot
    state.seat[state.member_slot[here]], state.seat[slot] = here, last


@step
def place(sections: Sections, state: State, buffer: int) -> tuple[int, int]:
    """Place a buffer at its low and lift its neighbours above it.

    Returns the sections (left, right) that contain every buffer whose state changed.
    """
    offset = state.low[buffer]
    top = offset + sections.extent[buffer]
    state.low[buffer] = FAR
    rekey(sections, state, buffer, -1, -offset)
    cross(sections, state, buffer, -1)
    state.counter[UNPLACED] -= 1
    for r in range(sections.first[buffer], sections.first[buffer + 1]):
        for s in range(sections.start[r], sections.end[r]):
            leave(state, s, sections.slot_first[r] + s - sections.start[r])
            state.left[s] -= sections.extent[buffer]
            if state.left[s] > 0:
                log_section(state, s)
                enqueue(state, s)
    left, right = sections.leftmost[buffer], sections.rightmost[buffer]
    for x in range(sections.neighbour_first[buffer], sections.neighbour_first[buffer + 1]):
        other = sections.neighbour[x]
        if state.low[other] < top:
            lift(sections, state, other, lifted(sections, other, top))
            left = min(left, sections.leftmost[other])
            right = max(right, sections.rightmost[other])
    return left, right


@step
def settle(sections: Sections, state: State, capacity: int) -> tuple[int, int]:
    """Recompute the queued sections, and empty the queue.

    Returns (-1, 0), or the first section that cannot hold what is left of it and the least capacity that would do.
    """
    failed, need = -1, 0
    for x in range(state.counter[QUEUED]):
        s = state.queue[x]
        state.is_queued[s] = False
        if failed >= 0:
            continue
        first, end = sections.member_first[s], state.member_end[s]
        floor, ready = FAR, 0
        for y in range(first, end):
            floor = min(floor, state.low[state.member[y]])
        for y in range(first, end):
            ready += state.low[state.member[y]] == floor
        log_section(state, s)
        state.floor[s], state.ready[s] = floor, ready
        # An extent may stick out of the top by what its buffer does not use.
        top = capacity + sections.spare[s]
        slack = top - floor - state.left[s]
        for r in range(sections.block_first[s], sections.block_first[s + 1]):
            slack -= max(0, min(top, sections.block[r, 1]) - max(floor, sections.block[r, 0]))
        state.slack[s] = slack
        if slack < 0:
            failed, need = s, capacity - slack
    state.counter[QUEUED] = 0
    return failed, need


@step
def undo(sections: Sections, state: State, mark: int) -> None:
    """Take back what was logged since the log had `mark` rows."""
    row = state.counter[LOGGED]
    while row > mark:
        row -= 1
        at, old = state.log[row, 0], state.log[row, 1]
        if at >= 0:
            rekey(sections, state, at, 0, old - state.low[at])
            state.low[at] = old
        else:
            state.floor[~at], state.ready[~at], state.slack[~at] = old, state.log[row, 2], state.log[row, 3]
    state.counter[LOGGED] = mark
