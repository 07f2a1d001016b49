"""The moves of the exact search: place a buffer, lift those above it, update changed sections, and undo all that."""

from __future__ import annotations

from memplan.solvers.kernels.exact.sections import Sections
from memplan.solvers.kernels.exact.state import (
    FAR,
    LOGGED,
    LOST,
    NOWHERE,
    OVERFULL,
    QUEUED,
    UNPLACED,
    State,
    enqueue,
    lifted,
    log_section,
    rekey,
)
from memplan.solvers.kernels.tables import ONE, ZERO, step


@step
def start(sections: Sections, state: State) -> None:
    """Go to the state before any move: everything unplaced and as low as can be, all sections queued."""
    for c in range(len(state.counter)):
        state.counter[c] = 0
    for s in range(len(state.left)):
        state.left[s], state.ready[s], state.logged[s], state.is_queued[s] = 0, 0, 0, False
        state.key[s, 0], state.key[s, 1] = 0, 0
        state.member_end[s] = sections.member_first[s]
    for s in range(len(state.crossing)):
        state.crossing[s], state.change[s] = 0, 0
    for i in range(len(state.low)):
        state.low[i] = FAR
    for i in range(len(state.low)):
        unplace(sections, state, i, lifted(sections, i, ZERO))
    for s in range(len(state.left)):
        if state.left[s] > 0:
            enqueue(state, s)


@step
def lift(sections: Sections, state: State, buffer: int, offset: int, left: int, right: int) -> None:
    """Raise the low of an unplaced buffer; sections outside left:right whose last ready buffer it was are queued.

    What is inside is counted anew by the caller.
    """
    old = state.low[buffer]
    row = state.counter[LOGGED]
    state.log[row, 0] = buffer
    state.log[row, 1] = old
    state.counter[LOGGED] = row + 1
    state.low[buffer] = offset
    if offset >= NOWHERE:
        state.counter[LOST] += 1
    rekey(sections, state, buffer, ZERO, offset - old)
    for r in range(sections.first[buffer], sections.first[buffer + 1]):
        for side in range(2):
            first = sections.start[r] if side == 0 else max(sections.start[r], right)
            end = min(sections.end[r], left) if side == 0 else sections.end[r]
            for s in range(first, end):
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
    cross(sections, state, buffer, ONE)
    state.low[buffer] = offset
    rekey(sections, state, buffer, ONE, offset)
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
    rekey(sections, state, buffer, -ONE, -offset)
    cross(sections, state, buffer, -ONE)
    state.counter[UNPLACED] -= 1
    for r in range(sections.first[buffer], sections.first[buffer + 1]):
        for s in range(sections.start[r], sections.end[r]):
            leave(state, s, sections.slot_first[r] + s - sections.start[r])
            state.left[s] -= sections.extent[buffer]
            if state.left[s] > 0:
                log_section(state, s)
                state.ready[s] = 0
                enqueue(state, s)
    left, right = sections.leftmost[buffer], sections.rightmost[buffer]
    # With holes in its life, all sections that it may have touched are updated one by one.
    inner_left, inner_right = left, right if sections.first[buffer + 1] - sections.first[buffer] == 1 else left
    for x in range(sections.neighbour_first[buffer], sections.neighbour_first[buffer + 1]):
        other = sections.neighbour[x]
        low = state.low[other]
        if low < top:
            low = lifted(sections, other, top)
            lift(sections, state, other, low, inner_left, inner_right)
            left = min(left, sections.leftmost[other])
            right = max(right, sections.rightmost[other])
        if low == top:
            for r in range(sections.first[other], sections.first[other + 1]):
                first, end = max(inner_left, sections.start[r]), min(inner_right, sections.end[r])
                if first < end:
                    state.change[first] += 1
                    state.change[end] -= 1
    ready = 0
    for s in range(inner_left, inner_right):
        ready += state.change[s]
        state.change[s] = 0
        if ready > 0:  # no buffer in the section is lower
            state.floor[s], state.ready[s] = top, ready
    state.change[inner_right] = 0
    return left, right


@step
def update_sections(sections: Sections, state: State, capacity: int) -> int:
    """Recompute the queued sections, floors and ready counts only where nothing is known to be ready.

    Returns 0, or the least capacity with which every section could hold what is left of it. The queue, which starts
    afresh with the next move, then begins with the sections that cannot, `counter[OVERFULL]` of them.
    """
    need = overfull = 0
    for x in range(state.counter[QUEUED]):
        s = state.queue[x]
        state.is_queued[s] = False
        log_section(state, s)
        if state.ready[s] == 0:
            floor, ready = FAR, 0
            for y in range(sections.member_first[s], state.member_end[s]):
                low = state.low[state.member[y]]
                if low < floor:
                    floor, ready = low, 1
                elif low == floor:
                    ready += 1
            state.floor[s], state.ready[s] = floor, ready
        # An extent may stick out of the top by what its buffer does not use.
        top = capacity + sections.spare[s]
        slack = top - state.floor[s] - state.left[s]
        for r in range(sections.block_first[s], sections.block_first[s + 1]):
            slack -= max(0, min(top, sections.block[r, 1]) - max(state.floor[s], sections.block[r, 0]))
        state.slack[s] = slack
        if slack < 0:
            need = max(need, capacity - slack)
            state.queue[overfull] = s
            overfull += 1
    state.counter[QUEUED], state.counter[OVERFULL] = 0, overfull
    return need


@step
def undo(sections: Sections, state: State, mark: int) -> None:
    """Take back what was logged since the log had `mark` rows."""
    row = state.counter[LOGGED]
    while row > mark:
        row -= 1
        at, old = state.log[row, 0], state.log[row, 1]
        if at >= 0:
            rekey(sections, state, at, ZERO, old - state.low[at])
            state.low[at] = old
        else:
            state.floor[~at], state.ready[~at], state.slack[~at] = old, state.log[row, 2], state.log[row, 3]
    state.counter[LOGGED] = mark
