"""Reduce an infeasible set: to a short stretch of time by bisection, then to an irreducible set by deletion.

A subset of the buffers or rules is never harder to fit, so one pass of queries finds a set in which each member is
needed (an irreducible set: Chinneck and Dravnieks, ORSA Journal on Computing 3, 1991).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from memplan.questions.explain.questions.queries import Answer

Item = TypeVar("Item")
Query = Callable[[list[Item]], Answer]


def shortest_stretch(count: int, fails: Callable[[int, int], bool]) -> tuple[int, int]:
    """Return the first and last of a shortest run of `count` live sets that does not fit, by 2 log2(count) queries.

    All live sets together must be infeasible.
    """
    low, high = 0, count - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fails(0, middle) else (middle + 1, high)
    last, low = high, 0
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fails(middle, last) else (low, middle - 1)
    return low, last


def delete_unneeded(
    items: Sequence[Item], query: Query[Item], report: Callable[[list[Item]], None]
) -> tuple[list[Item], int]:
    """Return a subset of the items that is still infeasible, and the number of its items not proved to be needed.

    One pass leaves out chunks of items; a chunk doubles after a success and halves after a failure. Items with an open
    answer are tried again at the end, when fewer are left. `report` is called with each smaller list.
    """
    items_left, at, size = list(items), 0, max(1, len(items) // 2)
    unsure: list[Item] = []
    while at < len(items_left):
        size = min(size, len(items_left) - at)
        trial = items_left[:at] + items_left[at + size :]
        answer = query(trial)
        if answer == "no":
            # The chunk was not needed, so the next chunk is larger.
            items_left, size = trial, size * 2
            report(items_left)
        elif size > 1:
            size //= 2
        else:
            # The item is kept for now; an open query is repeated at the end, when it may be easier.
            if answer == "open":
                unsure.append(items_left[at])
            at += 1
    still_open = 0
    for item in unsure:
        trial = [other for other in items_left if other != item]
        answer = query(trial)
        if answer == "no":
            items_left = trial
            report(items_left)
        still_open += answer == "open"
    return items_left, still_open
