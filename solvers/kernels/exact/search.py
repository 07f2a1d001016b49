"""Exact search by branching on sections: is there a placement whose largest end is at most a given capacity?

Push any placement down in order of offset: each buffer then lies at the lowest offset that it may ever have, or at the
lowest one above the end of some neighbour. So, of any section with floor f, either a buffer starts at f, which must be
one whose low is f, or none does, and then each buffer whose low is f lies above f, on the end of a neighbour that is
not placed yet. These are the branches. A buffer that starts at f lifts all its unplaced neighbours above it, which is
right where none of them can lie below it: where all its sections have the floor f, and no buffer that it conflicts with
by name has space below f. The argument needs no more of `lifted` than that it is monotone and keeps what it has lifted;
so alignments and obstacles are searched completely too.
"""

from __future__ import annotations

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.exact.branching import chosen_section, list_options, skip
from memplan.solvers.kernels.exact.moves import place, start, undo, unplace, update_sections
from memplan.solvers.kernels.exact.nogoods import component, known_failure, remember
from memplan.solvers.kernels.exact.sections import Sections
from memplan.solvers.kernels.exact.state import (
    END,
    FAR,
    FLOOR,
    KEY_A,
    KEY_B,
    LEFT,
    LOGGED,
    LOST,
    MARK,
    MOVE,
    MOVES,
    NEED,
    NEXT,
    NOWHERE,
    OVERFULL,
    RIGHT,
    SECTION,
    TOUCHED_LEFT,
    TOUCHED_RIGHT,
    UNPLACED,
    State,
)
from memplan.solvers.kernels.kernel import Kernel
from memplan.solvers.kernels.tables import F64, ZERO, Rows, step

FOUND, EXHAUSTED, STOPPED, FULL = 1, 0, -1, -2
SKIP = -1
"""The option that nothing of the section starts at its floor."""
_POLL_EVERY = 256


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


NODES, LEAST = 0, 1
"""The columns of an answer."""


@step
def take_back(sections: Sections, state: State, frame: I64) -> None:
    """Undo the last move of a frame."""
    undo(sections, state, frame[MARK])
    if frame[MOVE] != SKIP:
        unplace(sections, state, frame[MOVE], frame[FLOOR])


@Kernel
def search(sections: Sections, state: State, run: ExactRun) -> int:
    """Search for offsets whose largest end is at most a capacity; return the outcome.

    FOUND: `run.offset` holds them. EXHAUSTED: there are none. STOPPED: by the limit or the flag. FULL: `state` has too
    little room. O(sections + lifetimes and sections of the buffers that move) a node.
    """
    nogoods, capacity, weight, offset, answer = run.nogoods, run.capacity, run.weight, run.offset, run.answer
    n = len(sections.size)
    frame, option = state.frame, state.option
    start(sections, state)
    nodes = answer[NODES] = answer[LEAST] = 0

    # 1. The root: what does not fit before any move never will.
    need = update_sections(sections, state, capacity)
    for i in range(n):
        if state.low[i] + sections.size[i] > capacity:
            need = max(need, state.low[i] + sections.size[i])
    if need > 0:
        answer[LEAST] = need
        return EXHAUSTED
    depth, is_new = 0, True
    touched_left, touched_right = ZERO, len(sections.spare)

    while True:
        # 2. A new node: look up what the move has touched, then open a frame with the options of one section.
        left, right, need = 0, 0, 0
        if is_new:
            is_new = False
            nodes += 1
            answer[NODES] = nodes
            if state.counter[UNPLACED] == 0:
                return FOUND
            if nodes >= run.node_limit or (nodes % _POLL_EVERY == 0 and run.flag[0] != 0):
                return STOPPED
            left, right, need = known_failure(state, nogoods, capacity, touched_left, touched_right)
            if need == 0:
                first = frame[depth - 1, END] if depth else 0
                if depth == len(frame) or first + n + 1 > len(option):
                    return FULL
                section = chosen_section(sections, state, weight, run.skip_weight, run.from_right)
                frame[depth, SECTION] = section
                frame[depth, FLOOR] = state.floor[section]
                frame[depth, NEXT] = first
                frame[depth, NEED] = FAR
                end = list_options(sections, state, run.rank, run.guide, section, option, first)
                if state.slack[section] >= sections.granule or run.is_thorough:
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
                    answer[LEAST] = need
                    return EXHAUSTED
                take_back(sections, state, frame[depth])
                if left < frame[depth, TOUCHED_RIGHT] and right > frame[depth, TOUCHED_LEFT]:
                    break
            frame[depth, NEED] = min(frame[depth, NEED], need)
            continue

        # 5. Try the next option.
        if state.counter[LOGGED] + n + len(sections.spare) > len(state.log):
            return FULL
        move = option[frame[depth, NEXT]]
        frame[depth, NEXT] += 1
        frame[depth, MOVE] = move
        frame[depth, MARK] = state.counter[LOGGED]
        state.counter[MOVES] += 1
        section, floor = frame[depth, SECTION], frame[depth, FLOOR]
        if move == SKIP:
            touched_left, touched_right, need = skip(sections, state, section, floor, capacity)
        else:
            offset[move] = floor
            touched_left, touched_right = place(sections, state, move)
            if floor + sections.size[move] > capacity:
                need = floor + sections.size[move]
        frame[depth, TOUCHED_LEFT], frame[depth, TOUCHED_RIGHT] = touched_left, touched_right
        enough = update_sections(sections, state, capacity)
        if state.counter[LOST] > 0:
            need, state.counter[LOST] = NOWHERE, 0

        # 6. Sections overflow: they gain weight, unless it was clear beforehand that they would.
        if need > 0 or enough > 0:
            frame[depth, NEED] = min(frame[depth, NEED], max(need, enough))
            take_back(sections, state, frame[depth])
            if move != SKIP or state.slack[section] >= sections.granule:
                if need > 0:
                    weight[section] += 1.0
                else:
                    # All of them: which one is found first depends on the order of the buffers alone.
                    for x in range(state.counter[OVERFULL]):
                        weight[state.queue[x]] += 1.0
            continue
        depth += 1
        is_new = True
