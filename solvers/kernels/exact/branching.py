"""The branches of the exact search: the next section, the buffers that may start at its floor, or none of them."""

from __future__ import annotations

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.exact.moves import lift
from memplan.solvers.kernels.exact.sections import Sections
from memplan.solvers.kernels.exact.state import FAR, State, lifted
from memplan.solvers.kernels.tables import F64, ZERO, step


@step
def chosen_section(
    sections: Sections,
    state: State,
    weight: F64,
    skip_weight: float,
    from_right: bool,
) -> int:
    """Return the section with the fewest options for its failures; among equals, one with the lowest floor, the first
    from the left or from the right.

    Only plateaus count: runs of sections with one floor between higher ones, or walls, which nothing unplaced crosses.
    A buffer that starts at the floor of a plateau has nothing below it, nor leaves a hole. The section with the lowest
    floor of all can always be chosen.
    """
    best, best_cost, best_floor = -1, np.inf, FAR
    k = len(weight)
    left = ZERO
    while left < k:
        if state.left[left] == 0:
            left += 1
            continue
        floor = state.floor[left]
        right = left + 1
        while right < k and state.left[right] > 0 and state.floor[right] == floor and state.crossing[right] > 0:
            right += 1
        if ends_plateau(state, left, left - 1, floor) and ends_plateau(state, right, right, floor):
            for s in range(left, right):
                options = state.ready[s] + (skip_weight if state.slack[s] >= sections.granule else 0.0)
                cost = options / weight[s]
                is_less = cost < best_cost or (cost == best_cost and floor < best_floor)
                is_last = from_right and cost == best_cost and floor == best_floor
                if (is_less or is_last) and (sections.is_plain or nothing_lies_below(sections, state, s)):
                    best, best_cost, best_floor = s, cost, floor
        left = right
    return best


@step
def ends_plateau(state: State, border: int, beyond: int, floor: int) -> bool:
    """Say whether a plateau ends at a border: at a wall, or because the section beyond is higher."""
    return (
        beyond < 0
        or beyond == len(state.left)
        or state.left[beyond] == 0
        or state.crossing[border] == 0
        or state.floor[beyond] > floor
    )


@step
def height_beyond(state: State, border: int, beyond: int) -> int:
    """Return the floor of the section beyond a border of a plateau, or -1 where there is a wall or nothing left."""
    if beyond < 0 or beyond == len(state.left) or state.left[beyond] == 0 or state.crossing[border] == 0:
        return -1
    return int(state.floor[beyond])


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
def list_options(
    sections: Sections,
    state: State,
    rank: I64,
    guide: I64,
    section: int,
    option: I64,
    first: int,
) -> int:
    """Write the buffers that may start at a section's floor to option[first:]; return where they end.

    Those that the guide has there come first, then those that end level with what is beside the plateau, on both sides
    before on one, the others by rank. Of twins only the first is an option, for exchanging them changes nothing.
    """
    floor, end = state.floor[section], first
    left, right = section, section + 1
    while not ends_plateau(state, left, left - 1, floor):
        left -= 1
    while not ends_plateau(state, right, right, floor):
        right += 1
    above_left = height_beyond(state, left, left - 1)
    above_right = height_beyond(state, right, right)
    for x in range(sections.member_first[section], state.member_end[section]):
        i = state.member[x]
        if state.low[i] != floor or (sections.twin[i] >= 0 and state.low[sections.twin[i]] != FAR):
            continue
        top = floor + sections.extent[i]
        level = int(top == above_left and sections.leftmost[i] == left)
        level += int(top == above_right and sections.rightmost[i] == right)
        key = (4 * int(guide[i] == floor) + level) * len(rank) - rank[i]
        state.raised[i] = key
        at = end
        while at > first and state.raised[option[at - 1]] < key:
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
            lift(sections, state, i, state.raised[i], ZERO, ZERO)
            left, right = (
                min(left, sections.leftmost[i]),
                max(right, sections.rightmost[i]),
            )
    return left, right, 0
