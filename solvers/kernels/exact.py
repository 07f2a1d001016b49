"""Exact search by branching on sections: is there a placement whose largest end is at most a given capacity?

Push any placement down in order of offset: each buffer then lies at the lowest offset that it may ever have, or at the
lowest one above the end of some neighbour. So, of any section with floor f, either a buffer starts at f, which must be
one whose low is f, or none does, and then each buffer whose low is f lies above f, on the end of a neighbour that is
not placed yet. These are the branches. A buffer that starts at f lifts all its unplaced neighbours above it, which is
right where none of them can lie below it: where all its sections have the floor f, and nobody that it conflicts with by
name has room below f. The argument needs no more of `lifted` than that it is monotone and keeps what it has lifted; so
alignments and obstacles are searched completely too.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from planner.table import I64
from solvers.kernels.exact_nogoods import component, known_failure, remember
from solvers.kernels.exact_state import (
    FAR,
    LOGGED,
    MOVES,
    UNPLACED,
    State,
    lift,
    lifted,
    place,
    settle,
    start,
    step,
    undo,
    unplace,
    whole,
)
from solvers.sections import Sections

FOUND, EXHAUSTED, STOPPED, FULL = 1, 0, -1, -2
SKIP = -1
"""The option that nothing of the section starts at its floor."""
_POLL_EVERY = 256

# Columns of a frame, which is what a node of the search tree keeps.
(SECTION, FLOOR, NEXT, END, NEED, LEFT, RIGHT, KEY_A, KEY_B, MOVE, MARK, TOUCHED_LEFT, TOUCHED_RIGHT) = range(13)


@whole
def search(
    sections: Sections,
    state: State,
    nogoods: I64,
    rank: I64,
    weight: npt.NDArray[np.float64],
    capacity: int,
    skip_weight: float,
    node_limit: int,
    is_thorough: bool,
    flag: I64,
    offset: I64,
) -> tuple[int, int, int]:
    """Search for offsets whose largest end is at most `capacity`; return (outcome, nodes, need).

    FOUND: `offset` holds them. EXHAUSTED: there are none, nor under any capacity below `need`. STOPPED: `node_limit`
    was reached, or flag[0] was set. FULL: `state` has too little room. `rank` orders the buffers of a branch. `weight`
    counts the failures of each section and is kept by the caller, as is `nogoods` (2^b rows, or none: then it is
    unused). `skip_weight` is what the branch "nothing starts here" weighs against one buffer. `is_thorough` looks
    further for `need`. O(sections + lifetimes and sections of the buffers that move) a node.
    """
    n = len(sections.size)
    frame, option = state.frame, state.option
    start(sections, state)
    nodes = 0

    # 1. The root: what does not fit before any move never will.
    failed, need = settle(sections, state, capacity)
    if failed >= 0:
        return EXHAUSTED, nodes, need
    state.counter[LOGGED] = 0
    depth, is_new = 0, True
    touched_left, touched_right = 0, len(sections.spare)

    while True:
        # 2. A new node: look up what the move has touched, then open a frame with the options of one section.
        left, right, need = 0, 0, 0
        if is_new:
            is_new = False
            nodes += 1
            if state.counter[UNPLACED] == 0:
                return FOUND, nodes, 0
            if nodes >= node_limit or (nodes % _POLL_EVERY == 0 and flag[0] != 0):
                return STOPPED, nodes, 0
            left, right, need = known_failure(state, nogoods, capacity, touched_left, touched_right)
            if need == 0:
                first = frame[depth - 1, END] if depth else 0
                if depth == len(frame) or first + n + 1 > len(option):
                    return FULL, nodes, 0
                section = chosen_section(sections, state, weight, skip_weight)
                frame[depth, SECTION] = section
                frame[depth, FLOOR] = state.floor[section]
                frame[depth, NEXT] = first
                frame[depth, NEED] = FAR
                end = list_options(sections, state, rank, section, option, first)
                if state.slack[section] >= sections.granule or is_thorough:
                    option[end] = SKIP
                    end += 1
                else:
                    frame[depth, NEED] = capacity - state.slack[section] + sections.granule
                frame[depth, END] = end
                left, right, key_a, key_b = component(state, section)
                frame[depth, LEFT], frame[depth, RIGHT] = left, right
                frame[depth, KEY_A], frame[depth, KEY_B] = key_a, key_b

        # 3. No option is left: the component has no placement. Remember that.
        if need == 0 and frame[depth, NEXT] == frame[depth, END]:
            left, right, need = frame[depth, LEFT], frame[depth, RIGHT], frame[depth, NEED]
            remember(nogoods, frame[depth, KEY_A], frame[depth, KEY_B], need)

        # 4. Step back over all moves that did not touch the component: no other option of theirs can help it.
        if need > 0:
            while True:
                depth -= 1
                if depth < 0:
                    return EXHAUSTED, nodes, need
                take_back(sections, state, frame[depth])
                if left < frame[depth, TOUCHED_RIGHT] and right > frame[depth, TOUCHED_LEFT]:
                    break
            frame[depth, NEED] = min(frame[depth, NEED], need)
            continue

        # 5. Try the next option.
        if state.counter[LOGGED] + n + len(sections.spare) > len(state.log):
            return FULL, nodes, 0
        move = option[frame[depth, NEXT]]
        frame[depth, NEXT] += 1
        frame[depth, MOVE] = move
        frame[depth, MARK] = state.counter[LOGGED]
        state.counter[MOVES] += 1
        section, floor = frame[depth, SECTION], frame[depth, FLOOR]
        failed = -1
        if move == SKIP:
            touched_left, touched_right, need = skip(sections, state, section, floor, capacity)
            if need > 0:
                failed = section
        else:
            offset[move] = floor
            touched_left, touched_right = place(sections, state, move)
            if floor + sections.size[move] > capacity:
                failed, need = section, floor + sections.size[move]
        frame[depth, TOUCHED_LEFT], frame[depth, TOUCHED_RIGHT] = touched_left, touched_right
        overfull, enough = settle(sections, state, capacity)
        if failed < 0:
            failed, need = overfull, enough

        # 6. A section overflows: it gains weight, unless it was clear beforehand that it would.
        if failed >= 0:
            frame[depth, NEED] = min(frame[depth, NEED], need)
            take_back(sections, state, frame[depth])
            if move != SKIP or state.slack[section] >= sections.granule:
                weight[failed] += 1.0
            continue
        depth += 1
        is_new = True


@step
def take_back(sections: Sections, state: State, frame: I64) -> None:
    """Undo the last move of a frame."""
    undo(sections, state, frame[MARK])
    if frame[MOVE] != SKIP:
        unplace(sections, state, frame[MOVE], frame[FLOOR])


@step
def chosen_section(sections: Sections, state: State, weight: npt.NDArray[np.float64], skip_weight: float) -> int:
    """Return the section with the fewest options for its failures; among equals, that with the lowest floor.

    Only plateaus count: runs of sections with one floor between higher ones, or walls, which nothing unplaced crosses.
    A buffer that starts at the floor of a plateau has nothing below it, nor leaves a hole. The section with the lowest
    floor of all can always be chosen.
    """
    best, best_cost, best_floor = -1, np.inf, FAR
    k = len(weight)
    left = 0
    while left < k:
        if state.left[left] == 0:
            left += 1
            continue
        floor = state.floor[left]
        right = left + 1
        while right < k and state.left[right] > 0 and state.floor[right] == floor and state.crossing[right] > 0:
            right += 1
        if is_bank(state, left, left - 1, floor) and is_bank(state, right, right, floor):
            for s in range(left, right):
                options = state.ready[s] + (skip_weight if state.slack[s] >= sections.granule else 0.0)
                cost = options / weight[s]
                if (cost < best_cost or (cost == best_cost and floor < best_floor)) and (
                    sections.is_plain or nothing_lies_below(sections, state, s)
                ):
                    best, best_cost, best_floor = s, cost, floor
        left = right
    return best


@step
def is_bank(state: State, border: int, beyond: int, floor: int) -> bool:
    """Say whether a plateau ends at a border: at a wall, or because the section beyond is higher."""
    return (
        beyond < 0
        or beyond == len(state.left)
        or state.left[beyond] == 0
        or state.crossing[border] == 0
        or state.floor[beyond] > floor
    )


@step
def nothing_lies_below(sections: Sections, state: State, section: int) -> bool:
    """Say whether no unplaced neighbour of a buffer that may start at a section's floor can lie below it.

    On a plateau that is so where every buffer has one lifetime and no conflicts by name.
    """
    floor = state.floor[section]
    for x in range(sections.member_first[section], state.member_end[section]):
        i = state.member[x]
        if state.low[i] != floor:
            continue
        for r in range(sections.first[i], sections.first[i + 1]):
            for s in range(sections.start[r], sections.end[r]):
                if state.floor[s] < floor:
                    return False
        for y in range(sections.link_first[i], sections.link_first[i + 1]):
            other = sections.link[y]
            if state.low[other] + sections.size[other] <= floor:
                return False
    return True


@step
def list_options(sections: Sections, state: State, rank: I64, section: int, option: I64, first: int) -> int:
    """Write the buffers that may start at a section's floor to option[first:], by rank; return where they end.

    Of twins only the first is an option, for exchanging them changes nothing.
    """
    floor, end = state.floor[section], first
    for x in range(sections.member_first[section], state.member_end[section]):
        i = state.member[x]
        if state.low[i] != floor or (sections.twin[i] >= 0 and state.low[sections.twin[i]] != FAR):
            continue
        at = end
        while at > first and rank[option[at - 1]] > rank[i]:
            option[at] = option[at - 1]
            at -= 1
        option[at] = i
        end += 1
    return end


@step
def skip(sections: Sections, state: State, section: int, floor: int, capacity: int) -> tuple[int, int, int]:
    """Decide that nothing of a section starts at its floor; return what was touched (left, right) and need.

    Whoever could have started there now lies on the end of an unplaced neighbour. need > 0: one of them then ends above
    the capacity, and that much it would take; FAR where there is no such neighbour, so that nothing is lost.
    """
    left, right = section, section + 1
    for x in range(sections.member_first[section], state.member_end[section]):
        i = state.member[x]
        if state.low[i] != floor:
            continue
        least = FAR
        for y in range(sections.neighbour_first[i], sections.neighbour_first[i + 1]):
            other = sections.neighbour[y]
            if state.low[other] != FAR:
                least = min(least, state.low[other] + sections.extent[other])
        if least == FAR:
            return left, right, FAR
        state.raised[i] = lifted(sections, i, max(least, floor + 1))
        if state.raised[i] + sections.size[i] > capacity:
            return left, right, state.raised[i] + sections.size[i]
    # Only now, so that twins see each other's old lows and stay equal.
    for x in range(sections.member_first[section], state.member_end[section]):
        i = state.member[x]
        if state.low[i] == floor:
            lift(sections, state, i, state.raised[i])
            left, right = min(left, sections.leftmost[i]), max(right, sections.rightmost[i])
    return left, right, 0
