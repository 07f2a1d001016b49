"""Segments: macros that may run at once without a choice, because no order is worse for it.

A segment is a macro that is ready, then only macros that become ready through it, each of which leaves no more bytes
alive than before it, or begins a segment of its own that ends so. It ends when no more bytes are alive than before the
segment. docs/order.md proves that whatever order exists within a budget, one exists that begins with the
segment.
"""

from __future__ import annotations

from memplan.capabilities.order.kernels.moves import (
    ALLOWED,
    HILL,
    LIVE,
    LOGGED,
    REFUSED,
    VALLEY,
    Moves,
    Prefix,
    run,
    take_back,
)
from memplan.solvers.kernels.tables import step

SEGMENT_COLUMNS = 6
START, BASE, ROW, ARC, MOVED, TOP = range(SEGMENT_COLUMNS)
"""The columns of an open segment: its first row of the log; the bytes alive at which it ends; the row and the arc that
are looked at; whether it has grown since the first row was; its peak."""
DEEPEST = 6
"""The most that segments begin inside each other."""
_GROWING, _DONE, _FAILED = 0, 1, 2


@step
def grow(
    moves: Moves, prefix: Prefix, macro: int, budget: int, base: int, depth: int, longest: int, allowed: int
) -> bool:
    """Run the segment that begins with a macro, if it is one: it ends at `base` bytes or less within the budget.

    Otherwise return False, with all taken back. `depth` is how far segments begin inside each other, `longest` and
    `allowed` limit the macros of a segment and the macros that are tried. The peak and the last bytes alive are left in
    `number[HILL]` and `number[VALLEY]` either way, the least peak above the budget in `number[REFUSED]`.
    """
    number, log, segment = prefix.number, prefix.log, prefix.segment
    level, head = 0, macro
    number[ALLOWED] = allowed
    segment[0, BASE] = base
    while True:
        # 1. Run the head of a segment.
        outcome = _GROWING
        if head >= 0:
            segment[level, START] = number[LOGGED]
            segment[level, ROW] = number[LOGGED]
            segment[level, ARC] = moves.next_first[head]
            segment[level, MOVED] = 0
            number[ALLOWED] -= 1
            top = run(moves, prefix, head)
            segment[level, TOP] = top
            head = -1
            if top > budget:
                number[REFUSED] = min(number[REFUSED], top)
                outcome = _FAILED
        if outcome == _GROWING and number[LIVE] <= segment[level, BASE]:
            outcome = _DONE
        elif level > depth:
            outcome = _FAILED

        # 2. Look for the next macro that became ready through the segment.
        while outcome == _GROWING and head < 0:
            row = segment[level, ROW]
            if row == number[LOGGED] or number[ALLOWED] <= 0 or number[LOGGED] - segment[level, START] >= longest:
                outcome = _FAILED
                continue
            end = moves.next_first[log[row] + 1]
            arc = segment[level, ARC]
            while arc < end and prefix.spot[moves.next[arc]] < 0:
                arc += 1
            segment[level, ARC] = arc + 1
            if arc < end:
                head = moves.next[arc]
            else:
                segment[level, ROW] = segment[level, START] if segment[level, MOVED] else row + 1
                segment[level, MOVED] = 0
                if segment[level, ROW] < number[LOGGED]:
                    segment[level, ARC] = moves.next_first[log[segment[level, ROW]]]
        if head >= 0:
            level += 1
            segment[level, BASE] = number[LIVE]
            continue

        # 3. A segment ends: it is part of the one around it, or it is taken back.
        if level == 0:
            number[HILL], number[VALLEY] = segment[0, TOP], number[LIVE]
        if outcome == _FAILED:
            while number[LOGGED] > segment[level, START]:
                take_back(moves, prefix)
        if level == 0:
            return outcome == _DONE
        level -= 1
        if outcome == _DONE:
            segment[level, TOP] = max(segment[level, TOP], segment[level + 1, TOP])
            segment[level, MOVED] = 1
