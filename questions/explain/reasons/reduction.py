"""Reduction of an infeasible set: by bisection to a short range of time, then by deletion to an irreducible set.

Fewer buffers or rules never make a problem harder, so one pass of queries is enough to find a set in which each member
is needed (an irreducible set: Chinneck and Dravnieks, ORSA Journal on Computing 3, 1991).
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from memplan.questions.explain.questions.queries import Answer

Item = TypeVar("Item")
Query = Callable[[list[Item]], Answer]


def shortest_stretch(count: int, fails: Callable[[int, int], bool]) -> tuple[int, int]:
    """Return the first and last live set of a shortest infeasible stretch, found with 2 log2(count) queries.

    A stretch is a run of live sets; `fails(first, last)` returns True if it is infeasible, as all `count` live sets
    are.
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
    """Return an infeasible subset of the items, and how many items in it are not proved needed.

    One pass removes chunks of items; the chunk size doubles after a success and halves after a failure. An item with an
    open answer is tried again at the end, when fewer items are left. `report` receives each smaller list.
    """
    items_left, at, size = list(items), 0, max(1, len(items) // 2)
    unsure: list[Item] = []
    while at < len(items_left):
        size = min(size, len(items_left) - at)
        trial = items_left[:at] + items_left[at + size :]
        answer = query(trial)
        if answer == "no":
            # The removed chunk was not needed, so try a chunk of twice the size next.
            items_left, size = trial, size * 2
            report(items_left)
        elif size > 1:
            size //= 2
        else:
            # Keep the item for now, and repeat an open query at the end, when fewer items make it easier.
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
